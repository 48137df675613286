#include "settings/output_path.h"

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

bool is_output_pattern(const std::string& text) {
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') continue;
        ++i;
        if (i == text.size() || !std::strchr("hpn%", text[i])) return false;
    }
    return true;
}

OutputFile output_file(const std::string& pattern, const OutputNames& names, const std::string& directory) {
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
    std::string path = expand(pattern.empty() ? kDefaultFileName : pattern);
    if (path[0] != '/') path = (directory.empty() || directory.back() == '/' ? directory : directory + "/") + path;
    const bool named = path.back() != '/' && !is_directory(path);
    if (!named) path += (path.back() == '/' ? "" : "/") + expand(kDefaultFileName);
    return {path, !named || pattern.empty() || pattern.find("%p") != std::string::npos};
}

int create_output(OutputFile* file, std::string* why) {
    constexpr int kMostOfOneName = 1000;
    const size_t dot = file->path.rfind('.');
    const bool has_ending = dot != std::string::npos && dot > file->path.rfind('/') + 1;
    const std::string stem = has_ending ? file->path.substr(0, dot) : file->path;
    const std::string ending = has_ending ? file->path.substr(dot) : "";
    for (int number = 1; number <= kMostOfOneName; ++number) {
        const std::string path = number == 1 ? file->path : stem + "-" + std::to_string(number) + ending;
        const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            file->path = path;
            return fd;
        }
        if (errno != EEXIST || !file->of_process) break;
    }
    *why = "cannot create " + file->path + ": " + std::strerror(errno);
    return -1;
}

}  // namespace snoopie
