// order HOLD PUT | order late | order sampled | order gated | order handed KIND: whether the code that runs is in the order of the
// launches. NVBit writes a kernel's instrumented code in the default stream, while launches in other streams may be under way. All kernels
// run on GPU 0 and store to far memory (far_place); each launch has words of its own.
//
// Kernels of modules that are loaded only at their first launch would wait for all that runs: everything is loaded at the start. The first
// launch is of `warm`, because the first instrumented kernel of a context waits for everything in any case.
//
// Remote traffic of a launch of n threads:
//   kernel     operation  accesses  lanes  bytes/lane  sectors
//   warm, put,
//   push, give store      n / 32    n      4           n / 8
// `hold` has none, and is not to be measured; it runs for a second, longer than it takes to instrument put, or until the host
// lets it end.
//   HOLD PUT  each a kind of stream: default, blocking, apart (it does not wait for the default stream), each of its own. hold, and at once
//             put of 32 threads; when all have ended, put of 64 threads in the same stream.
//   late      hold in the default stream ends only when put of 32 threads has ended, in a stream apart: the host waits for that and then
//             lets hold end. When all have ended, put of 64 threads. Right only if hold did not have to give up.
//   sampled   hold of two seconds and put of 32 threads in a stream apart, put of 64 threads in another at once; when that has ended, put
//             of 96 and of 128 threads there.
//   gated     hold in a stream apart ends only when the host lets it, once it has put four launches of push behind it, of 32, 64, 96 and
//             128 threads. They read memory of GPU 0, which probes of the second and later ones need not look at.
//   handed KIND  give of 32 threads ends only when another stream sets a word: the default stream where it runs in one apart, else another
//             blocking one. Before that comes give of 32 threads that stores to GPU 0. Right only if the first did not have to give up.
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>

#include "arrays.cuh"

constexpr uint32_t kSlice = 256;  // words of one launch
constexpr uint64_t kSecond = 1000000000;
constexpr uint64_t kGiveUp = 20 * kSecond;

// Words of the host's memory through which it and `hold` agree.
struct Agreement {
    uint32_t end;
    uint32_t ended_by_host;
};

__device__ uint64_t now() {
    uint64_t nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

__global__ void hold(volatile Agreement* agreement, uint64_t nanoseconds) {
    const uint64_t start = now();
    while (agreement->end == 0 && now() - start < nanoseconds) __nanosleep(1000);
    agreement->ended_by_host = agreement->end;
}

__global__ void warm(uint32_t* there) {
    there[threadIdx.x] = threadIdx.x + 1;  // remote: warm
}

__global__ void put(uint32_t* there) {
    there[threadIdx.x] = threadIdx.x + 1;  // remote: put
}

__global__ void push(uint32_t* there, const uint32_t* here) {
    there[threadIdx.x] = here[threadIdx.x];  // remote: push
}

__global__ void give(uint32_t* there, volatile uint32_t* ended, const volatile uint32_t* word, uint64_t nanoseconds) {
    there[threadIdx.x] = threadIdx.x + 1;  // remote: give
    const uint64_t start = now();
    while (*word == 0 && now() - start < nanoseconds) __nanosleep(1000);
    *ended = *word;
}

cudaStream_t new_stream(const std::string& kind) {
    cudaStream_t stream = nullptr;
    if (kind == "blocking") CHECK(cudaStreamCreate(&stream));
    if (kind == "apart") CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

bool is_kind(const std::string& word) { return word == "default" || word == "blocking" || word == "apart"; }

// Launches that store, one slice of the other memory after the other.
class Stores {
  public:
    explicit Stores(int place) : there_(place) {}

    template <class... Rest>
    void launch(void (*kernel)(uint32_t*, Rest...), uint32_t threads, cudaStream_t stream, Rest... rest) {
        kernel<<<1, threads, 0, stream>>>(static_cast<uint32_t*>(there_) + kSlice * sizes_.size(), rest...);
        CHECK(cudaGetLastError());
        sizes_.push_back(threads);
    }

    bool right() const {
        const auto words = there_.read<uint32_t>();
        bool right = true;
        for (size_t i = 0; i < words.size(); ++i) {
            const size_t launch = i / kSlice, thread = i % kSlice;
            const bool stored = launch < sizes_.size() && thread < sizes_[launch];
            right = right && words[i] == (stored ? thread + 1 : 0);
        }
        return right;
    }

  private:
    const Array there_;
    std::vector<uint32_t> sizes_;
};

// Whether the first launch of give ended because of what came after the second.
bool handed(const std::string& kind, Stores* stores) {
    const cudaStream_t first = new_stream(kind), second = new_stream(kind);
    const cudaStream_t setting = kind == "apart" ? nullptr : second;
    const Array here(0), word(0), ended(0);
    // Its first launch has all probes.
    give<<<1, 32>>>(here, ended, word, 0);
    CHECK(cudaDeviceSynchronize());
    stores->launch<volatile uint32_t*, const volatile uint32_t*>(give, 32, first, ended, word, kGiveUp);
    give<<<1, 32, 0, second>>>(here, ended, word, 0);
    CHECK(cudaMemsetAsync(word, 1, sizeof(uint32_t), setting));
    CHECK(cudaDeviceSynchronize());
    return ended.read<uint32_t>()[0] != 0;
}

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    const bool late = words == std::vector<std::string>{"late"};
    const bool sampled = words == std::vector<std::string>{"sampled"};
    const bool gated = words == std::vector<std::string>{"gated"};
    const bool hands = words.size() == 2 && words[0] == "handed" && is_kind(words[1]) && words[1] != "default";
    if (!late && !sampled && !gated && !hands && !(words.size() == 2 && is_kind(words[0]) && is_kind(words[1]))) {
        std::fputs(
            "usage: order HOLD PUT | order late | order sampled | order gated | order handed KIND\n"
            "       HOLD and PUT: default, blocking or apart; KIND: blocking or apart\n",
            stderr);
        return 2;
    }
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    Stores stores(far_place("order"));
    Agreement* agreement = nullptr;
    CHECK(cudaHostAlloc(&agreement, sizeof *agreement, cudaHostAllocMapped));
    *agreement = {};
    hold<<<1, 1>>>(agreement, 0);
    CHECK(cudaGetLastError());
    stores.launch(warm, 32, nullptr);
    CHECK(cudaDeviceSynchronize());

    if (hands) {
        const bool in_time = handed(words[1], &stores), kept = stores.right();
        std::printf("order: stores %s, give ended %s\n", kept ? "right" : "wrong", in_time ? "as it should" : "otherwise");
        return verdict(kept && in_time);
    }

    const Array here(0, kSlice * sizeof(uint32_t));
    std::vector<uint32_t> numbers(kSlice);
    std::iota(numbers.begin(), numbers.end(), 1);
    here.write(numbers);

    const cudaStream_t held = new_stream(late ? "default" : sampled || gated ? "apart" : words[0]);
    const cudaStream_t other = new_stream(late || sampled || gated ? "apart" : words[1]);
    hold<<<1, 1, 0, held>>>(agreement, late || gated ? kGiveUp : sampled ? 2 * kSecond : kSecond);
    CHECK(cudaGetLastError());
    if (gated) {
        for (const uint32_t threads : {32, 64, 96, 128}) stores.launch<const uint32_t*>(push, threads, held, here);
        static_cast<volatile Agreement*>(agreement)->end = 1;
    } else if (sampled) {
        stores.launch(put, 32, held);
        stores.launch(put, 64, other);
        CHECK(cudaStreamSynchronize(other));
        stores.launch(put, 96, other);
        stores.launch(put, 128, other);
    } else {
        stores.launch(put, 32, other);
        if (late) {
            CHECK(cudaStreamSynchronize(other));
            static_cast<volatile Agreement*>(agreement)->end = 1;
        }
        CHECK(cudaDeviceSynchronize());
        stores.launch(put, 64, other);
    }
    CHECK(cudaDeviceSynchronize());
    const bool kept = stores.right();
    const bool in_time = agreement->ended_by_host == (late || gated ? 1 : 0);
    std::printf("order: stores %s, hold ended %s\n", kept ? "right" : "wrong", in_time ? "as it should" : "otherwise");
    return verdict(kept && in_time);
}
