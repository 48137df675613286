// Answers `snoopie hang`: an abstract Unix socket named after the process, on which whoever may look at the process gets a report.
//
// Not a signal: programs, Python and launchers have handlers of their own for all that are left. The name ends with the process, and no
// file stays behind. The kernel says who asks: only the same user and root get an answer.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace snoopie {

// Behind it comes the process's number.
constexpr const char* kHangSocket = "snoopie-hang-";

class HangServer {
  public:
    using Answer = std::function<std::string()>;

    // `answer` is called on a thread of the server's own, on which `on_thread` was called first.
    HangServer(int pid, Answer answer, void (*on_thread)());
    ~HangServer() { stop(); }
    void stop();

    bool listens() const { return listening_ >= 0; }

  private:
    void run();
    void close_all();

    const Answer answer_;
    void (*const on_thread_)();
    int listening_ = -1;
    int ended_[2] = {-1, -1};  // a pipe that wakes the thread for the end
    std::atomic<bool> stopped_{false};
    std::thread thread_;
};

}  // namespace snoopie
