#include "disassembly/nvdisasm.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/files.h"
#include "disassembly/sha256.h"
#include "settings/disassembly.h"

namespace snoopie {

namespace {

bool is_another_program(const std::string& path) {
    struct stat file;
    struct stat self;
    if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode) || access(path.c_str(), X_OK) != 0) return false;
    return stat("/proc/self/exe", &self) != 0 || self.st_dev != file.st_dev || self.st_ino != file.st_ino;
}

bool names_a_folder(const std::string& path) { return path.find('/') != std::string::npos; }

// Options whose value is a file that is written, or that holds more options.
bool keeps_from_caching(const std::string& argument) {
    for (const std::string_view option : {"-o", "-output-file", "-optf", "-options-file"}) {
        std::string_view text = argument;
        if (text.substr(0, 2) == "--") text.remove_prefix(1);
        if (text.substr(0, option.size()) == option && (text.size() == option.size() || text[option.size()] == '=')) return true;
    }
    return false;
}

}  // namespace

std::string find_nvdisasm() {
    const char* chosen = std::getenv(kNvdisasmVariable);
    const std::string name = chosen && *chosen ? chosen : kDefaultNvdisasm;
    if (names_a_folder(name)) return is_another_program(name) ? name : "";
    const char* path = std::getenv("PATH");
    std::string_view folders = path ? path : "/bin:/usr/bin";
    for (;;) {
        const size_t colon = std::min(folders.find(':'), folders.size());
        const std::string folder(folders.substr(0, colon));
        const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
        if (is_another_program(candidate)) return candidate;
        if (colon == folders.size()) return "";
        folders.remove_prefix(colon + 1);
    }
}

std::optional<Identity> identify(const std::string& program) {
    struct stat info;
    char* real = realpath(program.c_str(), nullptr);
    const std::string path = real ? real : program;
    free(real);
    if (stat(path.c_str(), &info) != 0) return std::nullopt;
    return Identity{path, {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec}};
}

std::string disassembly_key(const std::string& program, const Arguments& arguments, const std::optional<std::string>& code) {
    const std::optional<Identity> identity = identify(program);
    if (!identity) return "";
    Sha256 sum;
    sum.add_part('v', "1");  // of what is kept under the key
    sum.add_part('p', identity->path);
    sum.add_part('i', identity->bytes());
    bool reads_file = false;
    for (const std::string& argument : arguments) {
        if (keeps_from_caching(argument)) return "";
        const bool is_code = code && &argument == &arguments.back();
        const std::optional<std::string> content = is_code ? code : read_file(argument);
        if (!content || !names_a_folder(argument)) sum.add_part('a', argument);
        if (content) sum.add_part(is_code ? 'c' : 'f', *content);
        reads_file = reads_file || content;
    }
    return reads_file ? sum.hex() : "";
}

bool mentions_input(const Output& output, const Arguments& arguments) {
    return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
        if (!names_a_folder(argument) || access(argument.c_str(), R_OK) != 0) return false;
        return output.out.find(argument) != std::string::npos || output.err.find(argument) != std::string::npos;
    });
}

}  // namespace snoopie
