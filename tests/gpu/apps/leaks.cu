// leaks: memory of every kind of which it is known when it ends, if ever. It launches no kernel.
//
// In this order, in MiB, with what becomes of it. On GPU 0:
//   global     7 device      freed by the destructor of a static object, after the program began to exit
//   forget     2 × 3 device  never
//   threads    4 × 8 × 1     each thread's memory is freed by the next thread
//   unmapped   2 physical    mapped and unmapped again; its handle is never released
//   twice      64 physical   mapped twice, its handle released, unmapped one after the other
//   pool       32 pool       freed, but the pool keeps it
//   managed    16 managed    freed; the host's
//   pinned     8 host        freed; the host's
//   biggest    1024 device   freed after half a second, and half a second before the next
// The peak of GPU 0 is biggest's, with global, forget and unmapped: 1024 + 7 + 6 + 2 = 1039. On GPU 1, if there is one:
//   reset      5 device      ended by cudaDeviceReset
// The variable `table` is memory of GPU 0 that no call has made.
#include <chrono>
#include <thread>
#include <vector>

#include "range.cuh"

constexpr size_t kMiB = 1 << 20;
constexpr size_t kTwice = 64 * kMiB;
constexpr int kThreads = 4;
constexpr int kOfAThread = 8;

__device__ char table[4 * kMiB];

// Its memory is freed when the program has begun to exit.
class Global {
  public:
    ~Global() {
        const cudaError_t status = cudaFree(memory_);
        std::printf("leaks: the destructor: %s\n", cudaGetErrorName(status));
    }
    void allocate() { CHECK(cudaMalloc(&memory_, 7 * kMiB)); }

  private:
    void* memory_ = nullptr;
};

__attribute__((noinline)) void forget(int times) {
    for (int i = 0; i < times; ++i) {
        void* memory = nullptr;
        CHECK(cudaMalloc(&memory, 3 * kMiB));
    }
}

__attribute__((noinline)) void* one_of_a_thread() {
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, kMiB));
    return memory;
}

void threads_free_each_others() {
    std::vector<void*> of[kThreads];
    const auto run = [](auto work) {
        std::vector<std::thread> threads;
        for (int i = 0; i < kThreads; ++i) {
            threads.emplace_back([work, i] {
                CHECK(cudaSetDevice(0));
                work(i);
            });
        }
        for (std::thread& thread : threads) thread.join();
    };
    run([&of](int i) {
        for (int k = 0; k < kOfAThread; ++k) of[i].push_back(one_of_a_thread());
    });
    run([&of](int i) {
        for (void* memory : of[(i + 1) % kThreads]) CHECK(cudaFree(memory));
    });
}

CUmemGenericAllocationHandle create(size_t bytes) {
    const CUmemAllocationProp properties = memory_of_gpu(0);
    CUmemGenericAllocationHandle handle = 0;
    CHECK(DRIVER(cuMemCreate)(&handle, bytes, &properties, 0));
    return handle;
}

CUdeviceptr map(CUmemGenericAllocationHandle handle, size_t bytes) {
    CUdeviceptr address = 0;
    CHECK(DRIVER(cuMemAddressReserve)(&address, bytes, 0, 0, 0));
    CHECK(DRIVER(cuMemMap)(address, bytes, 0, handle, 0));
    return address;
}

void unmap(CUdeviceptr address, size_t bytes) {
    CHECK(DRIVER(cuMemUnmap)(address, bytes));
    CHECK(DRIVER(cuMemAddressFree)(address, bytes));
}

void unmapped_but_not_released(size_t bytes) { unmap(map(create(bytes), bytes), bytes); }

void mapped_twice() {
    const CUmemGenericAllocationHandle handle = create(kTwice);
    const CUdeviceptr first = map(handle, kTwice);
    const CUdeviceptr second = map(handle, kTwice);
    CHECK(DRIVER(cuMemRelease)(handle));
    unmap(first, kTwice);
    unmap(second, kTwice);
}

bool pool_keeps_memory() {
    int supported = 0;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    if (!supported) return false;
    cudaMemPool_t pool = nullptr;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t everything = UINT64_MAX;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &everything));
    void* memory = nullptr;
    CHECK(cudaMallocAsync(&memory, 32 * kMiB, nullptr));
    CHECK(cudaFreeAsync(memory, nullptr));
    CHECK(cudaStreamSynchronize(nullptr));
    return true;
}

void managed_and_pinned() {
    void* managed = nullptr;
    void* pinned = nullptr;
    CHECK(cudaMallocManaged(&managed, 16 * kMiB));
    CHECK(cudaMallocHost(&pinned, 8 * kMiB));
    CHECK(cudaFree(managed));
    CHECK(cudaFreeHost(pinned));
}

// Long enough for samples of what is in use before, meanwhile and after.
void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(500)); }

__attribute__((noinline)) void biggest() {
    void* memory = nullptr;
    wait();
    CHECK(cudaMalloc(&memory, 1024 * kMiB));
    wait();
    CHECK(cudaFree(memory));
    wait();
}

void reset_gpu_1() {
    CHECK(cudaSetDevice(1));
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, 5 * kMiB));
    CHECK(cudaDeviceReset());
    CHECK(cudaSetDevice(0));
}

int main() {
    const int gpus = reachable_gpus("leaks", 1);
    // Made after the driver was initialized and before the first context: so its destructor runs before the driver's end, and after what
    // was registered with the first context.
    static Global global;
    CHECK(cudaSetDevice(0));
    void* address = nullptr;
    CHECK(cudaGetSymbolAddress(&address, table));
    global.allocate();
    forget(2);
    threads_free_each_others();
    unmapped_but_not_released(chunk_size(memory_of_gpu(0)));
    mapped_twice();
    const bool pool = pool_keeps_memory();
    managed_and_pinned();
    biggest();
    if (gpus > 1) reset_gpu_1();
    std::printf("leaks: %s\n", pool ? "with a pool" : "without a pool");
    return verdict(true);
}
