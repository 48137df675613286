// What NVBit does to the application's children. When it is loaded it takes LD_PRELOAD out of the environment, so that the disassemblers
// that it runs load neither the tool nor the driver. A launcher's workers, and whatever else the user preloads, need the variable: the
// linker sends NVBit's calls here (--wrap), where the application keeps it and only NVBit's own commands go without.
#include "driver/children.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/child_environment.h"
#include "base/signals.h"

extern "C" {

int __real_unsetenv(const char* name);

int __wrap_unsetenv(const char* name) { return std::strcmp(name, "LD_PRELOAD") == 0 ? 0 : __real_unsetenv(name); }

// As system() with a command, but an interrupt still ends the application. What can be answered here needs no child.
int __wrap_system(const char* command) {
    const auto answer = snoopie::answer_command.load();
    if (answer && answer(command)) return 0;
    const std::vector<char*> environment = snoopie::environment_without_preload();
    char* const shell[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>(command), nullptr};

    // A handler of the application must not take the status away.
    sigset_t child_ended;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    const snoopie::BlockedSignals blocked(child_ended);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &blocked.before());
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    pid_t child = -1;
    int status = -1;
    const int error = posix_spawn(&child, "/bin/sh", nullptr, &attributes, shell, environment.data());
    if (error == 0) {
        while (waitpid(child, &status, 0) < 0) {
            if (errno == EINTR) continue;
            status = -1;
            break;
        }
    }
    posix_spawnattr_destroy(&attributes);
    return status;
}

}  // extern "C"
