#include "disassemble/running.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/files.h"

namespace snoopie {

namespace {

std::vector<char*> pointers(const std::string& program, const Arguments& arguments) {
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    return argv;
}

}  // namespace

int run_nvdisasm(const std::string& program, const Arguments& arguments, Output* output) {
    const Descriptor out(memfd_create("stdout", MFD_CLOEXEC));
    const Descriptor err(memfd_create("stderr", MFD_CLOEXEC));
    if (!out || !err) return -1;
    const pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        dup2(out.get(), STDOUT_FILENO);
        dup2(err.get(), STDERR_FILENO);
        _exit(become_nvdisasm(program, arguments));
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    std::optional<std::string> out_bytes = read_whole(out.get());
    std::optional<std::string> err_bytes = read_whole(err.get());
    if (!out_bytes || !err_bytes) return -1;
    *output = {std::move(*out_bytes), std::move(*err_bytes)};
    return status;
}

int become_nvdisasm(const std::string& program, const Arguments& arguments) {
    execv(program.c_str(), pointers(program, arguments).data());
    const int reason = errno;
    std::fprintf(stderr, "snoopie: cannot run %s: %s\n", program.c_str(), std::strerror(reason));
    return reason == ENOENT ? 127 : 126;
}

}  // namespace snoopie
