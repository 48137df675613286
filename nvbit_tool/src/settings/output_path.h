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

// Whether each % is followed by a letter that stands for something.
bool is_output_pattern(const std::string& text);

struct OutputFile {
    std::string path;
    // The name says which process it is of. A file of that name is then an earlier process's with the same number, as in containers,
    // and the new one gets "-2", "-3", … before its ending.
    bool of_process = false;
};

// The file for SNOOPIE_OUTPUT=pattern: a directory (one that exists, or a name that ends in '/') gets the default file name. Characters of
// the names that do not belong in a file name become '_'. Relative to `directory`.
OutputFile output_file(const std::string& pattern, const OutputNames& names, const std::string& directory);

// Creates the file, never an existing one, and sets its path to the one taken. Returns its descriptor, or -1 with a sentence in *why.
int create_output(OutputFile* file, std::string* why);

}  // namespace snoopie
