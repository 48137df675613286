// What the values of a column are, beyond numbers and strings. A reader checks, joins and shows them by that; docs/trace-format.md says
// what each role promises.
#pragma once

namespace snoopie::role {

struct Role {
    const char* name = "";
    // Of a reference: the table whose id the value is.
    const char* ref = "";
    // False: a trace may lack the column, whose values are 0 then.
    bool required = true;
};

constexpr Role id{"id"};
constexpr Role owner{"owner"};
constexpr Role set{"set"};
constexpr Role gpu{"gpu"};
constexpr Role gpu_or_unknown{"gpu or unknown"};
constexpr Role address{"address"};
constexpr Role handle{"handle"};
constexpr Role group{"group"};
constexpr Role flag{"flag"};
constexpr Role log2{"log2"};
// A place in the list of this name in the header.
constexpr Role operations{"operations"};
constexpr Role copy_kinds{"copy_kinds"};
constexpr Role codes{"codes"};
constexpr Role object_kinds{"object_kinds"};
constexpr Role directions{"directions"};

constexpr Role row(const char* table) { return {"row", table}; }
constexpr Role row_or_none(const char* table) { return {"row or none", table}; }
constexpr Role later_row(const char* table) { return {"later row", table}; }

constexpr Role optional(Role role) { return {role.name, role.ref, false}; }

}  // namespace snoopie::role
