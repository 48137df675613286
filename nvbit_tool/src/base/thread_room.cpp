#include "base/thread_room.h"

#include <pthread.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace snoopie {

namespace {

constexpr size_t kStack = 256 << 10;

// Tasks of all users, as far as this process sees them; the most there can be if that is unknown.
uint64_t tasks() {
    std::string skipped;
    uint64_t running = 0, all = 0;
    char slash = 0;
    std::ifstream load("/proc/loadavg");
    return load >> skipped >> skipped >> skipped >> running >> slash >> all ? all : UINT64_MAX / 2;
}

// It ends when it gets the lock.
void* wait_for(void* lock) {
    auto* const mutex = static_cast<pthread_mutex_t*>(lock);
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return nullptr;
}

bool can_start(size_t number) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::vector<pthread_t> started;
    started.reserve(number);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStack);
    // The program's signals are not theirs.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&mutex);
    pthread_t thread;
    while (started.size() < number && pthread_create(&thread, &attributes, wait_for, &mutex) == 0) started.push_back(thread);
    pthread_mutex_unlock(&mutex);
    for (const pthread_t one : started) pthread_join(one, nullptr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return started.size() == number;
}

}  // namespace

bool threads_to_be_had(int number) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
    const auto wanted = static_cast<uint64_t>(number);
    return limit.rlim_cur >= tasks() + wanted || can_start(wanted);
}

}  // namespace snoopie
