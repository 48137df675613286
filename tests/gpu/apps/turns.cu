// turns THREADS LAUNCHES: THREADS host threads, each with a non-blocking stream on GPU 0, launch one kernel LAUNCHES times at the same
// time. Its 1024 threads load and store 4 bytes each. Launch i of thread t loads from the far memory (far_place) if (i + t) % 3 is 0, and
// stores there if (i / 8 + t) % 4 is 0; otherwise from and into that of GPU 0.
//   kernel  operation  accesses  lanes  bytes/lane  sectors
//   pass    load       32        1024   4           128      from
//   pass    store      32        1024   4           128      to
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "arrays.cuh"

constexpr const char* kUsage = "turns THREADS LAUNCHES";
constexpr int kThreads = 1024;
constexpr size_t kBytes = 2 << 20;

__global__ void pass(const uint32_t* from, uint32_t* to, uint32_t more) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t value = from[i];  // remote: from
    to[i] = value + more;            // remote: to
}

int main(int argc, char** argv) {
    const int threads = static_cast<int>(argument(argc == 3 ? argv[1] : nullptr, 1, 64, kUsage));
    const int launches = static_cast<int>(argument(argc == 3 ? argv[2] : nullptr, 1, 1 << 20, kUsage));
    const int places[] = {0, far_place("turns")};
    // Of each thread: what it loads from and stores to, near and far.
    std::vector<std::unique_ptr<Array>> from, to;
    const std::vector<uint32_t> sevens(kBytes / sizeof(uint32_t), 7);
    for (int k = 0; k < 2 * threads; ++k) {
        from.push_back(std::make_unique<Array>(places[k % 2], kBytes));
        to.push_back(std::make_unique<Array>(places[k % 2], kBytes));
        CHECK(cudaMemcpy(from.back()->address, sevens.data(), kBytes, cudaMemcpyDefault));
    }
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t) {
        running.emplace_back([&, t] {
            CHECK(cudaSetDevice(0));
            cudaStream_t stream;
            CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            for (int i = 0; i < launches; ++i) {
                const int source = (i + t) % 3 == 0, destination = (i / 8 + t) % 4 == 0;
                pass<<<kThreads / 256, 256, 0, stream>>>(*from[2 * t + source], *to[2 * t + destination], i);
                CHECK(cudaGetLastError());
            }
            CHECK(cudaStreamSynchronize(stream));
        });
    }
    for (std::thread& one : running) one.join();

    bool right = true;
    for (int t = 0; t < threads; ++t) {
        for (const int there : {0, 1}) {
            int last = -1;
            for (int i = 0; i < launches; ++i)
                if (((i / 8 + t) % 4 == 0) == there) last = i;
            const std::vector<uint32_t> stored = to[2 * t + there]->read<uint32_t>();
            for (int k = 0; last >= 0 && k < kThreads; ++k) right = right && stored[k] == 7u + last;
        }
    }
    std::printf("turns: %d threads, %d launches each\n", threads, launches);
    return verdict(right);
}
