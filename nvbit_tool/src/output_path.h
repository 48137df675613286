// Where the trace goes.
#pragma once

#include <string>

namespace snoopie {

struct OutputNames {
    std::string host;
    std::string pid;
    std::string program;
};

constexpr const char* kDefaultFileName = "snoopie-%n.%p.zst";

// "" if the pattern can be used, else what is allowed.
std::string check_output_pattern(const std::string& pattern);

// The path for SNOOPIE_OUTPUT=pattern: a directory (one that exists, or a name that ends in '/') gets the default file name. Characters of
// the names that do not belong in a file name become '_'. Relative to `directory`.
std::string output_path(const std::string& pattern, const OutputNames& names, const std::string& directory);

// Creates the file, never an existing one. Returns its descriptor, or -1 with a sentence in *why.
int create_output(const std::string& path, std::string* why);

}  // namespace snoopie
