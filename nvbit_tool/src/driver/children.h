// What answers NVBit's commands in place of a child.
#pragma once

#include <atomic>

namespace snoopie {

// Asked before a command is run: true if what it was to do is done. Null until the collector has one.
inline std::atomic<bool (*)(const char* command)> answer_command{nullptr};

}  // namespace snoopie
