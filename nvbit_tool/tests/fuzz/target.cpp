#include "target.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

namespace fuzz {

std::vector<Target>& targets() {
    static std::vector<Target> all;
    return all;
}

const Target* find_target(std::string_view name) {
    for (const Target& target : targets())
        if (target.name == name) return &target;
    return nullptr;
}

void require(bool ok, const char* what) {
    if (ok) return;
    std::fprintf(stderr, "not true: %s\n", what);
    std::abort();
}

std::vector<std::string> lines_of(std::string_view input) {
    std::vector<std::string> lines;
    while (!input.empty()) {
        const size_t end = std::min(input.find('\n'), input.size());
        lines.emplace_back(input.substr(0, end));
        input.remove_prefix(std::min(end + 1, input.size()));
    }
    return lines;
}

const std::string& file_of(std::string_view input, const std::string& name) {
    // A folder for each process, which is left behind when it crashes: it holds what it crashed on.
    static const std::string folder = [] {
        std::string path = "/dev/shm/snoopie-fuzz-" + std::to_string(getpid());
        if (mkdir(path.c_str(), 0700) != 0) {
            path = "/tmp/snoopie-fuzz-" + std::to_string(getpid());
            mkdir(path.c_str(), 0700);
        }
        return path;
    }();
    static std::map<std::string, std::string> paths;
    const bool is_first = paths.empty();
    std::string& path = paths.try_emplace(name, folder + "/" + name).first->second;
    if (is_first)
        std::atexit([] {
            for (const auto& [_, own] : paths) unlink(own.c_str());
            rmdir(folder.c_str());
        });
    std::ofstream(path, std::ios::binary | std::ios::trunc) << input;
    return path;
}

}  // namespace fuzz
