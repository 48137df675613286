// NCCL's operations on N floats a rank, each in a group of its own and so in one kernel on each GPU, in this order:
//   operation       a rank's buffers, in floats        what it does
//   AllReduce       N to N                             the sum of all
//   AllGather       N / ranks to N                     one after the other
//   ReduceScatter   N to N / ranks                     each a part of the sum
//   Broadcast       N to N                             from the last rank
//   Send, Recv      N / ranks to N / ranks             to the next rank, from the one before
//   AlltoAll        N to N                             part k to rank k
// What they store in the memory of other GPUs is derived in test_gpu_nccl.py, from NCCL's source.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <vector>

#include "common.cuh"

#define NCCL_CHECK(call) check_nccl((call), #call, __FILE__, __LINE__)

inline void check_nccl(ncclResult_t status, const char* call, const char* file, int line) {
    if (status == ncclSuccess) return;
    std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, ncclGetErrorString(status));
    std::exit(1);
}

// A rank that this process runs.
struct Rank {
    int rank;
    int gpu;
    ncclComm_t communicator;
    cudaStream_t stream;
    float* sent;
    float* received;
};

class Operations {
  public:
    Operations(std::vector<Rank> own, int ranks, size_t n) : own_(std::move(own)), ranks_(ranks), n_(n), part_(n / ranks) {
        if (n % ranks != 0) {
            std::fprintf(stderr, "N must be a multiple of the %d ranks\n", ranks);
            std::exit(2);
        }
        std::vector<float> values(n);
        for (Rank& rank : own_) {
            CHECK(cudaSetDevice(rank.gpu));
            CHECK(cudaStreamCreate(&rank.stream));
            CHECK(cudaMalloc(&rank.sent, n * sizeof(float)));
            CHECK(cudaMalloc(&rank.received, n * sizeof(float)));
            for (size_t i = 0; i < n; ++i) values[i] = value(rank.rank, i);
            CHECK(cudaMemcpy(rank.sent, values.data(), n * sizeof(float), cudaMemcpyDefault));
        }
    }

    // Whether all results were right; says so of each operation and rank.
    bool run() {
        const int root = ranks_ - 1;
        const float ranks_sum = ranks_ * (ranks_ + 1) / 2;
        const auto sum = [=](size_t i) { return ranks_sum * (i % kPeriod + 1); };
        const auto next = [this](int rank) { return (rank + 1) % ranks_; };
        const auto previous = [this](int rank) { return (rank + ranks_ - 1) % ranks_; };

        operation(
            "AllReduce", n_,
            [=](const Rank& r) { return ncclAllReduce(r.sent, r.received, n_, ncclFloat, ncclSum, r.communicator, r.stream); },
            [=](int, size_t i) { return sum(i); });
        operation(
            "AllGather", n_, [=](const Rank& r) { return ncclAllGather(r.sent, r.received, part_, ncclFloat, r.communicator, r.stream); },
            [=](int, size_t i) { return value(i / part_, i % part_); });
        operation(
            "ReduceScatter", part_,
            [=](const Rank& r) { return ncclReduceScatter(r.sent, r.received, part_, ncclFloat, ncclSum, r.communicator, r.stream); },
            [=](int rank, size_t i) { return sum(rank * part_ + i); });
        operation(
            "Broadcast", n_,
            [=](const Rank& r) { return ncclBroadcast(r.sent, r.received, n_, ncclFloat, root, r.communicator, r.stream); },
            [=](int, size_t i) { return value(root, i); });
        operation(
            "Send, Recv", part_,
            [=](const Rank& r) {
                NCCL_CHECK(ncclSend(r.sent, part_, ncclFloat, next(r.rank), r.communicator, r.stream));
                return ncclRecv(r.received, part_, ncclFloat, previous(r.rank), r.communicator, r.stream);
            },
            [=](int rank, size_t i) { return value(previous(rank), i); });
        operation(
            "AlltoAll", n_, [=](const Rank& r) { return ncclAlltoAll(r.sent, r.received, part_, ncclFloat, r.communicator, r.stream); },
            [=](int rank, size_t i) { return value(i / part_, rank * part_ + i % part_); });
        return all_right_;
    }

  private:
    static constexpr size_t kPeriod = 251;

    // Small whole numbers: sums are exact in any order.
    static float value(size_t rank, size_t i) { return float(rank + 1) * float(i % kPeriod + 1); }

    // Calls for every own rank, waits, and compares the first `length` floats that each received with what they should be.
    template <typename Call, typename Expected>
    void operation(const char* name, size_t length, Call call, Expected expected) {
        for (const Rank& rank : own_) {
            CHECK(cudaSetDevice(rank.gpu));
            // All bits set is no number: what did not arrive is not equal to anything.
            CHECK(cudaMemsetAsync(rank.received, 0xff, n_ * sizeof(float), rank.stream));
        }
        NCCL_CHECK(ncclGroupStart());
        for (const Rank& rank : own_) {
            CHECK(cudaSetDevice(rank.gpu));
            NCCL_CHECK(call(rank));
        }
        NCCL_CHECK(ncclGroupEnd());
        std::vector<float> result(length);
        for (const Rank& rank : own_) {
            CHECK(cudaSetDevice(rank.gpu));
            CHECK(cudaStreamSynchronize(rank.stream));
            CHECK(cudaMemcpy(result.data(), rank.received, length * sizeof(float), cudaMemcpyDefault));
            size_t wrong = 0;
            for (size_t i = 0; i < length; ++i) wrong += !(result[i] == expected(rank.rank, i));
            std::printf("rank %d of %d: %s: %zu wrong\n", rank.rank, ranks_, name, wrong);
            all_right_ = all_right_ && wrong == 0;
        }
    }

    std::vector<Rank> own_;
    int ranks_;
    size_t n_;
    size_t part_;
    bool all_right_ = true;
};
