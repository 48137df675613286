// callees LAUNCHES: a kernel that can call any of many functions through a table, launched in three streams by turns (the default one, one
// that waits for it, one that does not), all without waiting. NVBit takes long to give launches of such a kernel their value. All run on
// GPU 0 and store to far memory (far_place); each launch has words of its own.
//
// Remote traffic of launch i, of n = 32 (i mod 4 + 1) threads:
//   kernel   operation  accesses  lanes  bytes/lane
//   callees  store      n / 32    n      4           step
#include <cstdint>
#include <utility>
#include <vector>

#include "arrays.cuh"

constexpr const char* kUsage = "callees LAUNCHES";
constexpr int kFunctions = 400;
constexpr uint32_t kSlice = 128;  // words of one launch

using Function = void (*)(uint32_t*);

template <int K>
__device__ __noinline__ void step(uint32_t* there) {
    there[threadIdx.x] = K + threadIdx.x;  // remote: step
}

struct Table {
    Function functions[kFunctions];
};
template <int... K>
constexpr Table table_of(std::integer_sequence<int, K...>) {
    return {{step<K>...}};
}
__device__ constexpr Table table = table_of(std::make_integer_sequence<int, kFunctions>());

__global__ void callees(uint32_t* there, int which) { table.functions[which](there); }

int main(int argc, char** argv) {
    const int launches = static_cast<int>(argument(argc == 2 ? argv[1] : nullptr, 1, 1000, kUsage));
    const Array there(far_place("callees"), launches * kSlice * sizeof(uint32_t));
    cudaStream_t streams[3] = {};
    CHECK(cudaStreamCreate(&streams[1]));
    CHECK(cudaStreamCreateWithFlags(&streams[2], cudaStreamNonBlocking));
    const auto threads = [](int i) { return 32 * (i % 4 + 1); };
    const auto which = [](int i) { return i * 7 % kFunctions; };
    for (int i = 0; i < launches; ++i) callees<<<1, threads(i), 0, streams[i % 3]>>>(static_cast<uint32_t*>(there) + i * kSlice, which(i));
    CHECK(cudaGetLastError());
    const std::vector<uint32_t> words = there.read<uint32_t>();
    for (int i = 0; i < launches; ++i) {
        for (uint32_t k = 0; k < kSlice; ++k) {
            const uint32_t expected = k < static_cast<uint32_t>(threads(i)) ? which(i) + k : 0;
            if (words[i * kSlice + k] != expected) {
                std::fprintf(stderr, "callees: word %u of launch %d is %u, not %u\n", k, i, words[i * kSlice + k], expected);
                return 1;
            }
        }
    }
    return 0;
}
