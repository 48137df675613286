// Preloaded into a program, has one of its file calls fail:
//
//   SNOOPIE_FAULT=write:3:28            the third write fails with error 28 (ENOSPC)
//   SNOOPIE_FAULT=write:3:28:on         and all that follow
//   SNOOPIE_FAULT=write:3:short         the third write takes one byte less than half of what it is given, and is no error
//
// The file that SNOOPIE_FAULT_SAID names is made when that happens: without it the program makes fewer such calls.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

struct Fault {
    std::string_view call;
    long number = 0;
    int error = 0;  // 0: the call does half of its work
    bool on = false;
};

Fault read_fault() {
    Fault fault;
    const char* text = std::getenv("SNOOPIE_FAULT");
    const char* colon = text ? std::strchr(text, ':') : nullptr;
    if (!colon) return fault;
    fault.call = {text, static_cast<size_t>(colon - text)};
    char* end = nullptr;
    fault.number = std::strtol(colon + 1, &end, 10);
    if (*end == ':') fault.error = static_cast<int>(std::strtol(end + 1, &end, 10));
    fault.on = std::string_view(end) == ":on";
    return fault;
}

Fault fault;
char said[4096];

// What the program starts is not to fail.
__attribute__((constructor)) void begin() {
    fault = read_fault();
    if (const char* path = std::getenv("SNOOPIE_FAULT_SAID")) std::strncpy(said, path, sizeof said - 1);
    unsetenv("LD_PRELOAD");
}

// Whether this call, one of those of its name, is to fail.
bool fails(std::string_view call) {
    static std::atomic<long> calls{0};
    if (call != fault.call) return false;
    const long number = ++calls;
    if (number != fault.number && !(fault.on && number > fault.number)) return false;
    syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, said, O_CREAT | O_WRONLY, 0666));
    errno = fault.error;
    return true;
}

// What the program would have called.
template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// What all calls have in common: fail, or do what they should.
#define FAILING(RESULT, NAME, PARAMETERS, ARGUMENTS, FAILED)      \
    extern "C" RESULT NAME PARAMETERS {                           \
        static auto* const real = next<RESULT PARAMETERS>(#NAME); \
        return fails(#NAME) && errno ? FAILED : real ARGUMENTS;   \
    }

FAILING(int, ftruncate, (int fd, off_t size), (fd, size), -1)
FAILING(off_t, lseek, (int fd, off_t offset, int whence), (fd, offset, whence), -1)
FAILING(int, mkdir, (const char* path, mode_t mode), (path, mode), -1)
FAILING(int, rename, (const char* from, const char* to), (from, to), -1)
FAILING(int, flock, (int fd, int operation), (fd, operation), -1)
FAILING(ssize_t, pread, (int fd, void* bytes, size_t size, off_t offset), (fd, bytes, size, offset), -1)
FAILING(ssize_t, pwrite, (int fd, const void* bytes, size_t size, off_t offset), (fd, bytes, size, offset), -1)
FAILING(int, fstat, (int fd, struct stat* info), (fd, info), -1)
FAILING(int, stat, (const char* path, struct stat* info), (path, info), -1)
FAILING(pid_t, fork, (), (), -1)
FAILING(int, memfd_create, (const char* name, unsigned flags), (name, flags), -1)
FAILING(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1)
FAILING(int, bind, (int fd, const sockaddr* address, socklen_t bytes), (fd, address, bytes), -1)
FAILING(int, connect, (int fd, const sockaddr* address, socklen_t bytes), (fd, address, bytes), -1)
FAILING(int, setsockopt, (int fd, int level, int option, const void* value, socklen_t bytes), (fd, level, option, value, bytes), -1)
FAILING(int, getsockopt, (int fd, int level, int option, void* value, socklen_t* bytes), (fd, level, option, value, bytes), -1)
FAILING(ssize_t, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags), -1)
FAILING(ssize_t, recv, (int fd, void* bytes, size_t size, int flags), (fd, bytes, size, flags), -1)

// Closed it is in any case.
extern "C" int close(int fd) {
    static auto* const real = next<int(int)>("close");
    const bool failing = fails("close");
    const int error = errno;
    const int result = real(fd);
    if (!failing || error == 0) return result;
    errno = error;
    return -1;
}

extern "C" ssize_t write(int fd, const void* bytes, size_t size) {
    static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
    if (!fails("write")) return real(fd, bytes, size);
    return errno ? -1 : real(fd, bytes, size > 1 ? (size - 1) / 2 : size);
}

extern "C" int open(const char* path, int flags, ...) {
    static auto* const real = next<int(const char*, int, ...)>("open");
    va_list arguments;
    va_start(arguments, flags);
    const auto mode = va_arg(arguments, unsigned);
    va_end(arguments);
    return fails("open") && errno ? -1 : real(path, flags, mode);
}
