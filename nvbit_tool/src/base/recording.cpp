#include "base/recording.h"

#include <pthread.h>

namespace snoopie {

bool Recording::forked_ = false;

Recording::Recording() {
    pthread_atfork(nullptr, nullptr, [] { forked_ = true; });
}

}  // namespace snoopie
