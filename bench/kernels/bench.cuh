// What the programs of the bench share: arguments, clocks, and the line of JSON that each prints at its end.
//
//   PROGRAM REPETITIONS LAUNCHES [--mapping]
//
// A program launches once, then warms up with one repetition and measures REPETITIONS of LAUNCHES launches each. With --mapping GPU 0 can
// also reach memory of GPU 1, which a program that touches only its own memory makes no use of: it is what makes the collector look at it.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../../sample_traces/common.cuh"

struct Arguments {
    int repetitions;
    int launches;
    bool mapping;
};

inline Arguments read_arguments(int argc, char** argv) {
    const char* usage = "PROGRAM REPETITIONS LAUNCHES [--mapping]    (both numbers from 1 to 1000000)";
    const bool mapping = argc == 4 && std::strcmp(argv[3], "--mapping") == 0;
    const bool complete = argc == 3 || mapping;
    return {static_cast<int>(argument(complete ? argv[1] : nullptr, 1, 1000000, usage)),
            static_cast<int>(argument(complete ? argv[2] : nullptr, 1, 1000000, usage)), mapping};
}

// For a program on one GPU: leaves GPU 0 current, with a way into memory of GPU 1 if that is asked for.
inline void prepare_gpu(const char* program, const Arguments& arguments) {
    if (arguments.mapping) {
        open_gpus(program);
        void* foreign = nullptr;
        CHECK(cudaSetDevice(1));
        CHECK(cudaMalloc(&foreign, 1 << 21));
    }
    CHECK(cudaSetDevice(0));
}

// A value of 12 bits for each place, so that sums of a few are exact in floating point and no two neighbours are alike.
inline uint32_t scrambled(uint32_t i) { return i * 0x9E3779B9u >> 20; }

inline uint64_t nanoseconds() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// Keeps the stream busy while the host queues what is measured: its time is then the GPU's alone, however long a launch takes the host.
__global__ void hold(uint64_t duration) {
    uint64_t start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < duration);
}

class Measurement {
  public:
    explicit Measurement(const Arguments& arguments) : arguments_(arguments) {}

    // `launch` queues one launch in `stream`. Measures by events in that stream.
    template <class Launch>
    void by_events(Launch launch, cudaStream_t stream = nullptr) {
        constexpr uint64_t kHold = 400000;  // ns
        first([&] { launch(); }, [&] { CHECK(cudaStreamSynchronize(stream)); });
        cudaEvent_t begin, end;
        CHECK(cudaEventCreate(&begin));
        CHECK(cudaEventCreate(&end));
        repeat([&] {
            hold<<<1, 1, 0, stream>>>(kHold);
            CHECK(cudaGetLastError());
            CHECK(cudaEventRecord(begin, stream));
            for (int i = 0; i < arguments_.launches; ++i) launch();
            CHECK(cudaEventRecord(end, stream));
            CHECK(cudaEventSynchronize(end));
            float milliseconds = 0;
            CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
            return static_cast<double>(milliseconds);
        });
        CHECK(cudaEventDestroy(begin));
        CHECK(cudaEventDestroy(end));
    }

    // `launch` queues one launch on each GPU, `wait` waits for all that was queued. Measures by the host's clock, to the end of the last
    // launch, or the calls alone, where so few are queued that the GPU need not keep up.
    template <class Launch, class Wait>
    void by_clock(Launch launch, Wait wait, bool to_the_end = true) {
        first(launch, wait);
        repeat([&] {
            const uint64_t begin = nanoseconds();
            for (int i = 0; i < arguments_.launches; ++i) launch();
            if (to_the_end) wait();
            const uint64_t end = nanoseconds();
            if (!to_the_end) wait();
            return (end - begin) * 1e-6;
        });
    }

    // How often `launch` was called so far.
    int launches() const { return 1 + static_cast<int>(arguments_.repetitions + 1) * arguments_.launches; }

    // Prints the figures; its value is the exit status. `first_end` is a time of the monotonic clock.
    int report(bool right) const {
        std::printf("{\"right\": %s, \"launches\": %d, \"first_ms\": %.6f, \"first_end\": %llu, \"ms\": [", right ? "true" : "false",
                    arguments_.launches, first_ms_, static_cast<unsigned long long>(first_end_));
        for (size_t i = 0; i < ms_.size(); ++i) std::printf("%s%.6f", i ? ", " : "", ms_[i]);
        std::puts("]}");
        return right ? 0 : 1;
    }

  private:
    template <class Launch, class Wait>
    void first(Launch launch, Wait wait) {
        const uint64_t begin = nanoseconds();
        launch();
        wait();
        first_end_ = nanoseconds();
        first_ms_ = (first_end_ - begin) * 1e-6;
    }

    template <class Repetition>
    void repeat(Repetition repetition) {
        repetition();
        for (int i = 0; i < arguments_.repetitions; ++i) ms_.push_back(repetition());
    }

    Arguments arguments_;
    double first_ms_ = 0;
    uint64_t first_end_ = 0;
    std::vector<double> ms_;  // of each repetition
};
