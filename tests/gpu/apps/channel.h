// Messages between two processes of a machine, each a value and perhaps a file descriptor.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Ends {
    int one;
    int other;
};

// Two connected sockets, closed by exec.
inline Ends connected_sockets() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) return {ends[0], ends[1]};
    std::perror("socketpair");
    std::exit(1);
}

// Sends a value and, unless it is -1, a duplicate of a file descriptor. Does not wait for the receiver.
template <typename Value>
void send_value(int socket, const Value& value, int descriptor = -1) {
    iovec part{const_cast<Value*>(&value), sizeof value};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof descriptor);
        std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    if (sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof value) return;
    std::perror("sendmsg");
    std::exit(1);
}

// Waits for a value. *descriptor becomes what came with it, or -1. Leaves the program where the other process has ended.
template <typename Value>
Value receive_value(int socket, int* descriptor = nullptr) {
    Value value;
    iovec part{&value, sizeof value};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof *descriptor)] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != sizeof value) {
        std::fprintf(stderr, "the other process is gone\n");
        std::exit(1);
    }
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (descriptor != nullptr) {
        *descriptor = -1;
        if (header != nullptr) std::memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
    }
    return value;
}
