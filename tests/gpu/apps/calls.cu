// calls ROUNDS: calls of the driver, counted by the program itself. kThreads host threads a GPU make ROUNDS rounds each; the
// kernels stay within their GPU's memory.
//
// It prints, for every call that it makes of the driver itself, by the GPU that was current:
//   call NAME GPU DIRECTION CALLS ERRORS BYTES     DIRECTION as in the trace with _ between the words, - for none; BYTES of those
//                                                  that succeeded
//   error NAME GPU CODE CALLS
// and of each thread, with its GPU, how often it launched two kernels:
//   launches GPU COUNT SCALE
// The threads launch different numbers: round r of thread t of GPU g has 1 + t of `count` and 2 + g of `scale<int>`.
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "common.cuh"
#include "driver.cuh"

constexpr int kThreads = 3;
constexpr size_t kWords = 1000;
constexpr size_t kBytes = kWords * sizeof(uint32_t);
constexpr size_t kAbsurd = size_t{1} << 60;

__global__ void count(uint32_t* words) {
    if (threadIdx.x == 0) words[0] += 1;
}

template <typename T>
__global__ void scale(T* words, T factor) {
    if (threadIdx.x == 0) words[1] = words[1] * factor + 1;
}

// What was called, with what result.
class Tally {
  public:
    void called(const char* name, int gpu, CUresult status, const char* direction = "-", size_t bytes = 0) {
        const std::lock_guard<std::mutex> lock(mutex_);
        Row& row = calls_[{name, gpu, direction}];
        ++row.calls;
        if (status == CUDA_SUCCESS) {
            row.bytes += bytes;
        } else {
            ++row.errors;
            ++errors_[{name, gpu, status}];
        }
    }

    void print() const {
        for (const auto& [key, row] : calls_)
            std::printf("call %s %d %s %zu %zu %zu\n", std::get<0>(key).c_str(), std::get<1>(key), std::get<2>(key).c_str(), row.calls,
                        row.errors, row.bytes);
        for (const auto& [key, calls] : errors_)
            std::printf("error %s %d %d %zu\n", std::get<0>(key).c_str(), std::get<1>(key), std::get<2>(key), calls);
    }

  private:
    struct Row {
        size_t calls = 0;
        size_t errors = 0;
        size_t bytes = 0;
    };
    std::mutex mutex_;
    std::map<std::tuple<std::string, int, std::string>, Row> calls_;
    std::map<std::tuple<std::string, int, int>, size_t> errors_;
};

Tally tally;

CUdeviceptr allocate(int gpu, size_t bytes) {
    CUdeviceptr address = 0;
    const CUresult status = DRIVER(cuMemAlloc)(&address, bytes);
    tally.called("cuMemAlloc_v2", gpu, status, "-", bytes);
    return status == CUDA_SUCCESS ? address : 0;
}

void release(int gpu, CUdeviceptr address) { tally.called("cuMemFree_v2", gpu, DRIVER(cuMemFree)(address)); }

uint32_t* words_at(CUdeviceptr address) { return reinterpret_cast<uint32_t*>(address); }

// One thread's rounds. `inbox` lies on another GPU, if there is one. Returns whether the kernels ran as often as they were launched.
bool work(int gpu, int thread, uint32_t rounds, CUdeviceptr inbox, const char* to_inbox) {
    CHECK(cudaSetDevice(gpu));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    void* pinned = nullptr;
    CUresult status = DRIVER(cuMemHostAlloc)(&pinned, kBytes, 0);
    tally.called("cuMemHostAlloc", gpu, status, "-", kBytes);
    CHECK(status);

    std::vector<uint32_t> words(kWords);
    const CUdeviceptr own = allocate(gpu, kBytes);
    status = DRIVER(cuMemsetD32)(own, 0, kWords);
    tally.called("cuMemsetD32_v2", gpu, status, "-", kBytes);
    bool right = own != 0 && status == CUDA_SUCCESS;
    for (uint32_t round = 0; round < rounds; ++round) {
        const CUdeviceptr more = allocate(gpu, 256 * (round + 1));
        right = right && more != 0;
        right = right && allocate(gpu, kAbsurd) == 0;  // out of memory
        right = right && allocate(gpu, 0) == 0;        // invalid value
        for (int i = 0; i < 1 + thread; ++i) count<<<1, 32>>>(words_at(own));
        for (int i = 0; i < 2 + gpu; ++i) scale<int><<<1, 32>>>(reinterpret_cast<int*>(own), 1);
        CHECK(cudaGetLastError());
        tally.called("cuMemcpyDtoH_v2", gpu, DRIVER(cuMemcpyDtoH)(words.data(), own, kBytes), "device_to_host", kBytes);
        tally.called("cuMemcpyHtoD_v2", gpu, DRIVER(cuMemcpyHtoD)(more, words.data(), 100), "host_to_device", 100);
        tally.called("cuMemcpyDtoD_v2", gpu, DRIVER(cuMemcpyDtoD)(more, own, 200), "device_to_device", 200);
        tally.called("cuMemcpyDtoD_v2", gpu, DRIVER(cuMemcpyDtoD)(inbox, own, 40), to_inbox, 40);
        tally.called("cuMemcpyHtoDAsync_v2", gpu, DRIVER(cuMemcpyHtoDAsync)(more, pinned, 60, stream), "host_to_device", 60);
        CHECK(cudaStreamSynchronize(stream));
        release(gpu, more);
    }
    CHECK(cudaDeviceSynchronize());
    right = right && words[0] == rounds * (1 + thread) && words[1] == rounds * (2 + gpu);
    release(gpu, own);
    tally.called("cuMemFreeHost", gpu, DRIVER(cuMemFreeHost)(pinned));
    CHECK(cudaStreamDestroy(stream));
    return right;
}

int main(int argc, char** argv) {
    const char* usage = "calls ROUNDS    (from 1 to 10000)";
    const auto rounds = static_cast<uint32_t>(argument(argc == 2 ? argv[1] : nullptr, 1, 10000, usage));
    const int gpus = open_gpus("calls", 1);

    std::vector<CUdeviceptr> inboxes(gpus);
    for (int gpu = 0; gpu < gpus; ++gpu) {
        CHECK(cudaSetDevice(gpu));
        inboxes[gpu] = allocate(gpu, kBytes);
    }
    std::vector<int> right(gpus * kThreads);
    std::vector<std::thread> threads;
    for (int gpu = 0; gpu < gpus; ++gpu)
        for (int thread = 0; thread < kThreads; ++thread)
            threads.emplace_back([&right, &inboxes, rounds, gpu, thread, gpus] {
                right[gpu * kThreads + thread] =
                    work(gpu, thread, rounds, inboxes[(gpu + 1) % gpus], gpus > 1 ? "peer" : "device_to_device");
            });
    for (std::thread& thread : threads) thread.join();
    for (int gpu = 0; gpu < gpus; ++gpu) {
        CHECK(cudaSetDevice(gpu));
        release(gpu, inboxes[gpu]);
    }

    bool all_right = true;
    for (const int one : right) all_right = all_right && one;
    tally.print();
    for (int gpu = 0; gpu < gpus; ++gpu)
        for (int thread = 0; thread < kThreads; ++thread)
            std::printf("launches %d %u %u\n", gpu, rounds * (1 + thread), rounds * (2 + gpu));
    return verdict(all_right);
}
