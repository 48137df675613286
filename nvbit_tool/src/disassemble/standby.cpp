#include "disassemble/standby.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "base/files.h"
#include "disassemble/requests.h"
#include "disassemble/running.h"
#include "disassembly/sha256.h"

// SNOOPIE_FORKING names the library that is preloaded into nvdisasm, which make compiles first. Here it needs no place of its own.
asm(".pushsection .rodata\n"
    "snoopie_forking:\n"
    ".incbin \"" SNOOPIE_FORKING
    "\"\n"
    "snoopie_forking_end:\n"
    ".popsection\n");
extern "C" const char snoopie_forking[] __attribute__((visibility("hidden")));
extern "C" const char snoopie_forking_end[] __attribute__((visibility("hidden")));

namespace snoopie {

namespace {

constexpr int kLibrary = kListeningSocket + 1;  // the descriptor of the library in nvdisasm's process, as kPreload names it
constexpr const char* kPreload = "LD_PRELOAD=/proc/self/fd/4";
constexpr int kAnswerMilliseconds = 500;  // until a request is taken; then it is as fast as nvdisasm

// What the cache remembers of a standby: whether it has said once what nvdisasm itself says, which it must before it is believed, because
// another nvdisasm may keep what it saw at its first look; and when one was started last.
struct Known {
    std::string verdict;
    int64_t started = 0;
};
constexpr const char* kProved = "proved";
constexpr const char* kFailed = "failed";

std::string_view library() { return {snoopie_forking, static_cast<size_t>(snoopie_forking_end - snoopie_forking)}; }

// A library can be preloaded into programs that the dynamic linker starts, and not meaningfully into a script's shell.
bool is_dynamic(const std::string& program) {
    const Descriptor file(open(program.c_str(), O_RDONLY | O_CLOEXEC));
    Elf64_Ehdr header;
    if (!file || pread(file.get(), &header, sizeof header, 0) != sizeof header) return false;
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return false;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        const auto offset = static_cast<off_t>(header.e_phoff + i * sizeof segment);
        if (pread(file.get(), &segment, sizeof segment, offset) != sizeof segment) return false;
        if (segment.p_type == PT_INTERP) return true;
    }
    return false;
}

// Several may have one cache.
std::string host() {
    utsname names = {};
    uname(&names);
    return names.nodename;
}

class Standby {
  public:
    // None for arguments other than NVBit's, -b ARCHITECTURE FILE, and for a program that cannot be one.
    static std::optional<Standby> find(const Cache& cache, const std::string& program, const Arguments& arguments);

    // What nvdisasm says, if its status is 0 and it has no messages, which would name another file.
    std::optional<Output> ask(const std::string& input) const;
    // Unless there is one, or was until just now. It is nobody's child, and has nothing of this process but what is meant for it.
    void start(Known known) const;

    Known recall() const;
    // Whether it is now.
    bool remember(const Known& known) const;

  private:
    Standby(const Cache& cache, std::string program, std::string architecture, std::string key)
        : cache_(cache), program_(std::move(program)), architecture_(std::move(architecture)), key_(std::move(key)) {}
    socklen_t address(sockaddr_un* address) const;
    void become(int socket, int code) const noexcept;

    const Cache& cache_;
    const std::string program_;
    const std::string architecture_;
    const std::string key_;  // of everything that one standby and no other is for
};

std::optional<Standby> Standby::find(const Cache& cache, const std::string& program, const Arguments& arguments) {
    if (arguments.size() != 3 || arguments[0] != "-b") return std::nullopt;
    const std::optional<Identity> identity = identify(program);
    if (!identity || !is_dynamic(identity->path)) return std::nullopt;
    Sha256 sum;
    sum.add_part('s', library());
    sum.add_part('p', identity->path);
    sum.add_part('i', identity->bytes());
    sum.add_part('a', arguments[1]);
    sum.add_part('c', cache.directory());
    sum.add_part('u', std::to_string(geteuid()));
    sum.add_part('h', host());
    return Standby(cache, identity->path, arguments[1], sum.hex());
}

socklen_t Standby::address(sockaddr_un* address) const {
    *address = {};
    address->sun_family = AF_UNIX;
    const std::string name = '\0' + ("snoopie-" + key_);
    static_assert(sizeof address->sun_path > 1 + 8 + 64);
    std::memcpy(address->sun_path, name.data(), name.size());
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
}

bool bound_waiting(int connection, int milliseconds) {
    const timeval most = {milliseconds / 1000, milliseconds % 1000 * 1000};
    return setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) == 0 &&
           setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) == 0;
}

std::optional<Output> Standby::ask(const std::string& input) const {
    const Descriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un name;
    const socklen_t bytes = address(&name);
    if (!connection || !bound_waiting(connection.get(), kAnswerMilliseconds)) return std::nullopt;
    if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&name), bytes) != 0) return std::nullopt;
    if (!is_same_user(connection.get())) return std::nullopt;

    const Descriptor in(open(input.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    const Descriptor out(memfd_create("stdout", MFD_CLOEXEC));
    const Descriptor err(memfd_create("stderr", MFD_CLOEXEC));
    struct stat info;
    // What is empty, nvdisasm would have refused at its first look.
    if (!in || !out || !err || fstat(in.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return std::nullopt;
    if (!send_request(connection.get(), {in.get(), out.get(), err.get()}) || !is_told(connection.get(), kTaken)) return std::nullopt;
    if (!bound_waiting(connection.get(), 0) || !is_told(connection.get(), kDone)) return std::nullopt;

    std::optional<std::string> said = read_whole(out.get());
    const std::optional<std::string> messages = read_whole(err.get());
    if (!said || said->empty() || !messages || !messages->empty() || said->find(kNoInput) != std::string::npos) return std::nullopt;
    return Output{std::move(*said), ""};
}

void Standby::start(Known known) const {
    // One that ended sooner than idle ones do has failed, and so would the next, at each function.
    const int64_t now = std::time(nullptr);
    if (now >= known.started && now - known.started <= kIdleSeconds) return;
    known.started = now;
    const Descriptor listening(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un name;
    const socklen_t bytes = address(&name);
    // Until it listens, others find that there is none, and that one is being started.
    if (!listening || bind(listening.get(), reinterpret_cast<const sockaddr*>(&name), bytes) != 0) return;
    if (!remember(known)) return;
    const Descriptor code(memfd_create("forking.so", MFD_CLOEXEC));
    if (!code || !write_whole(code.get(), library())) return;
    const pid_t child = fork();
    if (child < 0) return;
    if (child == 0) {
        if (setsid() >= 0 && fork() == 0) become(listening.get(), code.get());
        _exit(0);
    }
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
}

// Closes all descriptors from `first` on, which may be many: the program's own are handed down to here.
bool close_from(int first) {
    DIR* own = opendir("/proc/self/fd");
    if (!own) return false;
    while (const dirent* entry = readdir(own)) {
        const std::string_view text = entry->d_name;
        int fd = -1;
        std::from_chars(text.data(), text.data() + text.size(), fd);
        if (fd >= first && fd != dirfd(own)) close(fd);
    }
    closedir(own);
    return true;
}

void Standby::become(int socket, int code) const noexcept {
    for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);

    // The folder is where it sees that the cache is gone.
    if (chdir(cache_.directory().c_str()) != 0) return;
    socket = fcntl(socket, F_DUPFD, kLibrary + 1);
    code = fcntl(code, F_DUPFD, kLibrary + 1);
    if (socket < 0 || code < 0 || dup2(socket, kListeningSocket) < 0 || dup2(code, kLibrary) < 0) return;
    const int nowhere = open("/dev/null", O_RDWR);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
        if (nowhere < 0 || dup2(nowhere, fd) < 0) return;
    if (!close_from(kLibrary + 1)) return;

    const char* const arguments[] = {program_.c_str(), "-b", architecture_.c_str(), kNoInput, nullptr};
    const char* const environment[] = {kPreload, nullptr};
    execve(program_.c_str(), const_cast<char**>(arguments), const_cast<char**>(environment));
}

Known Standby::recall() const {
    const std::optional<Output> entry = cache_.find(key_);
    return entry ? Known{entry->out, std::strtoll(entry->err.c_str(), nullptr, 10)} : Known{};
}

bool Standby::remember(const Known& known) const {
    cache_.store(key_, {known.verdict, std::to_string(known.started)});
    const Known kept = recall();
    return kept.verdict == known.verdict && kept.started == known.started;
}

}  // namespace

int disassemble_quickly(const Cache& cache, const std::string& program, const Arguments& arguments, Output* output) {
    const std::optional<Standby> standby = Standby::find(cache, program, arguments);
    const Known known = standby ? standby->recall() : Known{kFailed};
    if (known.verdict == kFailed) return run_nvdisasm(program, arguments, output);
    const std::string& input = arguments.back();
    if (known.verdict == kProved) {
        if (std::optional<Output> answer = standby->ask(input)) {
            *output = std::move(*answer);
            return 0;
        }
    }
    standby->start(known);
    const int status = run_nvdisasm(program, arguments, output);
    if (known.verdict == kProved || status != 0) return status;
    if (const std::optional<Output> answer = standby->ask(input))
        standby->remember({answer->out == output->out && answer->err == output->err ? kProved : kFailed, standby->recall().started});
    return status;
}

}  // namespace snoopie
