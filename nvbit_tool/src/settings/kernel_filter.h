// Which kernels the user chose by name.
#pragma once

#include <string>
#include <vector>

namespace snoopie {

class KernelFilter {
  public:
    // Splits KERNEL_NAME at the commas that separate patterns (those inside <> or () belong to a name); "all" leaves none. False if one is
    // empty or has unpaired brackets.
    static bool parse(const std::string& text, std::vector<std::string>* patterns);

    // No patterns = every kernel. nccl and nvshmem stand for the kernels of these libraries.
    explicit KernelFilter(const std::vector<std::string>& patterns);

    // Whether a pattern matches the demangled name: as it is, without its argument list, without its template list and return type,
    // or, for a plain word, without its namespaces; or the mangled name.
    bool selects(const std::string& demangled, const std::string& mangled) const;

  private:
    std::vector<std::string> patterns_;
};

// "void n::k<int>(float*)" without its argument list: "void n::k<int>".
std::string without_arguments(const std::string& demangled);

// The forms of a demangled name that a user may write, longest first: "void n::k<int>(float*)" gives itself, "n::k<int>(float*)",
// "void n::k<int>", "n::k<int>", "n::k", "k<int>", "k".
std::vector<std::string> spellings(const std::string& demangled);

}  // namespace snoopie
