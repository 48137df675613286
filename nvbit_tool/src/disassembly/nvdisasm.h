// NVIDIA's disassembler: which one, and what its output depends on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "disassembly/cache.h"

namespace snoopie {

using Arguments = std::vector<std::string>;

// The program of SNOOPIE_NVDISASM, else nvdisasm, as execvp would find it, but never this program; "" if there is none.
std::string find_nvdisasm();

// A program as it is now: another under its name, or at another time, has another.
struct Identity {
    std::string path;  // without symbolic links
    int64_t size_and_change[3];

    std::string_view bytes() const { return {reinterpret_cast<const char*>(size_and_change), sizeof size_and_change}; }
};
// None if it cannot be looked at.
std::optional<Identity> identify(const std::string& program);

// Names everything that the output depends on: the program, by path, size and time of change, the arguments, and what the files contain
// that they name. Of a file that is named with its folder, as temporary files are, the name itself does not count. "" if the output should
// not be kept: nothing is read from a file, or it does not go to stdout. `code` counts instead of what the last one contains, if it is
// given.
std::string disassembly_key(const std::string& program, const Arguments& arguments, const std::optional<std::string>& code = {});

// An output that says where its input lay is right for that place only.
bool mentions_input(const Output& output, const Arguments& arguments);

}  // namespace snoopie
