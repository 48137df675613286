// attached ROUNDS BEFORE: rounds of known calls in three parts, between which others may come and go. The first and the last part have
// BEFORE rounds, the second ROUNDS.
//
// Before the second part it prints "ready", behind it "done", and waits each time for a line on its input, or its end.
// In each round, every GPU in turn:
//   allocates 4096 bytes that it keeps (keep), 1000 that it frees, and more than there is, which fails
//   launches `send`, whose 8 warps store 4 bytes a thread to the next GPU; in the second part also `late`, which stays at home
//   copies 60 bytes from the host, 20 to the host, and 40 to the next GPU
// A single GPU is its own next one, but what it stores goes to the host.
#include <cstdint>
#include <vector>

#include "common.cuh"
#include "driver.cuh"

constexpr int kThreads = 256;
constexpr size_t kKept = 4096;
constexpr size_t kFreed = 1000;
constexpr size_t kAbsurd = size_t{1} << 60;

__global__ void send(uint32_t* to, uint32_t value) { to[threadIdx.x] = value; }

__global__ void late(uint32_t* words) { words[threadIdx.x] += 1; }

__attribute__((noinline)) bool keep() {
    CUdeviceptr address = 0;
    return DRIVER(cuMemAlloc)(&address, kKept) == CUDA_SUCCESS;
}

__attribute__((noinline)) bool give_back() {
    CUdeviceptr address = 0;
    return DRIVER(cuMemAlloc)(&address, kFreed) == CUDA_SUCCESS && DRIVER(cuMemFree)(address) == CUDA_SUCCESS;
}

__attribute__((noinline)) bool ask_for_too_much() {
    CUdeviceptr address = 0;
    return DRIVER(cuMemAlloc)(&address, kAbsurd) == CUDA_ERROR_OUT_OF_MEMORY;
}

struct Gpus {
    std::vector<uint32_t*> inbox, own;
    std::vector<CUcontext> context;
};

bool one_round(const Gpus& gpus, uint32_t value, bool middle) {
    const int count = static_cast<int>(gpus.inbox.size());
    const bool alone = count == 1;
    bool right = true;
    for (int gpu = 0; gpu < count; ++gpu) {
        const int next = (gpu + 1) % count;
        CHECK(cudaSetDevice(gpu));
        right = keep() && give_back() && ask_for_too_much() && right;
        send<<<1, kThreads>>>(gpus.inbox[next], value);
        if (middle) late<<<1, kThreads>>>(gpus.own[gpu]);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(nullptr));
    }
    for (int gpu = 0; gpu < count; ++gpu) {
        const int next = (gpu + 1) % count;
        CHECK(cudaSetDevice(gpu));
        const auto own = reinterpret_cast<CUdeviceptr>(gpus.own[gpu]), inbox = reinterpret_cast<CUdeviceptr>(gpus.inbox[gpu]);
        uint32_t words[15] = {};
        CHECK(DRIVER(cuMemcpyHtoD)(own, words, sizeof(words)));
        CHECK(DRIVER(cuMemcpyDtoH)(words, alone ? own : inbox, 20));
        CHECK(DRIVER(cuMemcpyPeer)(reinterpret_cast<CUdeviceptr>(gpus.own[next]), gpus.context[next], own, gpus.context[gpu], 40));
        right = right && (alone ? gpus.inbox[gpu] : words)[4] == value;
    }
    return right;
}

void wait_for_others(const char* said) {
    std::puts(said);
    std::fflush(stdout);
    for (int letter = std::getchar(); letter != '\n' && letter != EOF;) letter = std::getchar();
}

int main(int argc, char** argv) {
    const char* usage = "attached ROUNDS BEFORE    (to 10000)";
    const auto rounds = static_cast<uint32_t>(argument(argc == 3 ? argv[1] : nullptr, 1, 10000, usage));
    const auto before = static_cast<uint32_t>(argument(argc == 3 ? argv[2] : nullptr, 0, 10000, usage));
    Gpus gpus;
    for (int gpu = 0, count = open_gpus("attached", 1); gpu < count; ++gpu) {
        CHECK(cudaSetDevice(gpu));
        uint32_t* words = nullptr;
        CHECK(cudaMalloc(&words, 2 * kThreads * sizeof(*words)));
        gpus.inbox.push_back(count > 1 ? words : static_cast<uint32_t*>(memory_at(kHost, kThreads * sizeof(*words))));
        gpus.own.push_back(words + kThreads);
        CUcontext context = nullptr;
        CHECK(DRIVER(cuCtxGetCurrent)(&context));
        gpus.context.push_back(context);
    }
    bool right = true;
    uint32_t value = 0;
    for (uint32_t round = 0; round < before; ++round) right = one_round(gpus, ++value, false) && right;
    wait_for_others("ready");
    for (uint32_t round = 0; round < rounds; ++round) right = one_round(gpus, ++value, true) && right;
    wait_for_others("done");
    for (uint32_t round = 0; round < before; ++round) right = one_round(gpus, ++value, false) && right;
    return verdict(right);
}
