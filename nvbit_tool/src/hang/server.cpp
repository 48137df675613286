#include "hang/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <exception>
#include <utility>

#include "base/files.h"
#include "base/signals.h"

namespace snoopie {

namespace {

constexpr int kWaiting = 8;                    // who ask at once
constexpr int kPatienceMilliseconds = 10'000;  // for one who does not read

bool may_ask(int connection) {
    ucred asks{};
    socklen_t size = sizeof asks;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &asks, &size) != 0) return false;
    return asks.uid == geteuid() || asks.uid == 0;
}

void send_all(int connection, const std::string& text) {
    for (size_t done = 0; done < text.size();) {
        pollfd ready{connection, POLLOUT, 0};
        if (poll(&ready, 1, kPatienceMilliseconds) <= 0) return;
        const ssize_t sent = send(connection, text.data() + done, text.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent <= 0) return;
        done += static_cast<size_t>(sent);
    }
}

}  // namespace

HangServer::HangServer(int pid, Answer answer, void (*on_thread)()) : answer_(std::move(answer)), on_thread_(on_thread) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = kHangSocket + std::to_string(pid);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    listening_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listening_ < 0) return;
    if (bind(listening_, reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(listening_, kWaiting) != 0 ||
        pipe2(ended_, O_CLOEXEC) != 0) {
        close(listening_);
        listening_ = -1;
        return;
    }
    try {
        thread_ = std::thread([this] { run(); });
    } catch (...) {
        close_all();
        throw;
    }
}

void HangServer::close_all() {
    close(listening_);
    close(ended_[0]);
    close(ended_[1]);
    listening_ = -1;
}

void HangServer::run() {
    block_all_signals();
    on_thread_();
    while (!stopped_) {
        pollfd either[] = {{listening_, POLLIN, 0}, {ended_[0], POLLIN, 0}};
        if (poll(either, 2, -1) <= 0 || !(either[0].revents & POLLIN)) continue;
        const Descriptor connection(accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC));
        if (!connection || !may_ask(connection.get())) continue;
        try {
            send_all(connection.get(), answer_());
        } catch (const std::exception&) {
            // Who asked gets nothing, and the program goes on.
        }
    }
}

void HangServer::stop() {
    if (!thread_.joinable()) return;
    stopped_ = true;
    const char end = 0;
    if (write(ended_[1], &end, 1) == 1) thread_.join();
    close_all();
}

}  // namespace snoopie
