#include "output_path.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cctype>
#include <cerrno>
#include <cstring>

namespace snoopie {

namespace {

std::string file_name_part(const std::string& text) {
    std::string out;
    for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) || std::strchr("._+-", c) ? c : '_';
    return out.empty() ? "unknown" : out;
}

bool is_directory(const std::string& path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

std::string check_output_pattern(const std::string& pattern) {
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%') continue;
        ++i;
        if (i == pattern.size() || !std::strchr("hpn%", pattern[i]))
            return "a directory or a file name; %h stands for the host, %p for the process id, %n for the program, %% for %";
    }
    return "";
}

std::string output_path(const std::string& pattern, const OutputNames& names, const std::string& directory) {
    const auto expand = [&](const std::string& text) {
        std::string out;
        for (size_t i = 0; i < text.size(); ++i) {
            if (text[i] != '%' || i + 1 == text.size()) {
                out += text[i];
                continue;
            }
            switch (text[++i]) {
                case 'h':
                    out += file_name_part(names.host);
                    break;
                case 'p':
                    out += file_name_part(names.pid);
                    break;
                case 'n':
                    out += file_name_part(names.program);
                    break;
                default:
                    out += text[i];
            }
        }
        return out;
    };
    std::string path = expand(pattern);
    if (path.empty()) path = expand(kDefaultFileName);
    if (path[0] != '/') path = (directory.empty() || directory.back() == '/' ? directory : directory + "/") + path;
    if (path.back() == '/') return path + expand(kDefaultFileName);
    if (is_directory(path)) return path + "/" + expand(kDefaultFileName);
    return path;
}

int create_output(const std::string& path, std::string* why) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) *why = "cannot create " + path + ": " + std::strerror(errno);
    return fd;
}

}  // namespace snoopie
