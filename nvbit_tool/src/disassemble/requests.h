// What `disassemble` and an nvdisasm on standby tell one another, over a socket of packets.
//
// Who asks sends descriptors: the input, and where stdout and stderr go. The answers are kTaken, and, when nvdisasm has ended with status 0
// and its output is written, kDone. The end of the connection without it means that there is no answer.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace snoopie {

constexpr int kListeningSocket = 3;                            // the descriptor that nvdisasm is started with
constexpr const char* kNoInput = "/snoopie/standby/no-input";  // the file that it is told to read
constexpr int kIdleSeconds = 20;                               // it ends when nothing was asked for so long
constexpr int kFiles = 3;
constexpr char kTaken = 't';
constexpr char kDone = 'd';

inline bool is_same_user(int connection) {
    ucred peer = {};
    socklen_t bytes = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

// Room for the descriptors of a request.
struct Request {
    char byte = 'r';
    iovec part = {&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int[kFiles]))] = {};
    msghdr message = {};

    Request() {
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
    }
};

inline bool send_request(int connection, const int (&files)[kFiles]) {
    Request request;
    cmsghdr* header = CMSG_FIRSTHDR(&request.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof files);
    std::memcpy(CMSG_DATA(header), files, sizeof files);
    return sendmsg(connection, &request.message, MSG_NOSIGNAL) == 1;
}

inline bool receive_request(int connection, int (&files)[kFiles]) {
    Request request;
    if (recvmsg(connection, &request.message, MSG_CMSG_CLOEXEC) != 1) return false;
    const cmsghdr* header = CMSG_FIRSTHDR(&request.message);
    if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof files)) return false;
    std::memcpy(files, CMSG_DATA(header), sizeof files);
    return true;
}

inline bool tell(int connection, char word) { return send(connection, &word, 1, MSG_NOSIGNAL) == 1; }

inline bool is_told(int connection, char word) {
    char told = 0;
    return recv(connection, &told, 1, 0) == 1 && told == word;
}

}  // namespace snoopie
