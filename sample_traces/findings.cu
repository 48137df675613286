// findings MODE: a program of which `snoopie findings` says one thing, which MODE names, nothing at all, or each of them.
//
// Each GPU's threads touch one word of 4 bytes each, N = 2^19 of them (2 MiB) unless said, in arrays that start at a sector. GPUs 0 and 1
// on each other's memory, each the same, unless said:
//   MODE       finding           traffic
//   none       none              stores N words, loads N words, side by side; a quarter of that is copied from GPU to GPU
//   stores     scattered-stores  stores 2^16 words, one a sector: 256 KiB of data on 1 MiB of wire
//   loads      scattered-loads   loads 2^16 words, one a sector
//   again      repeated-loads    loads 2^14 words, each 32 times
//   atomics    remote-atomics    2^17 reductions on 64 words, so 2048 on each
//   one_way    one-sided-pairs   GPU 0 stores N words, GPU 1 loads N words: all flows from 0 to 1
//   staged     staged-copies     N words are copied from GPU 0 to the host and from there to GPU 1
//   exchange   host-exchange     GPU 0 stores N words in the host's memory, GPU 1 loads them
//   misplaced  misplaced-copies  N words are copied to GPU 0, and GPU 1 loads them; GPU 0 loads N words that GPU 1 made
//   unequal    unequal-ranks     GPU 0 stores N and loads N words, GPU 1 an eighth of that
//   each       all above         atomics and stores by GPU 0; loads, again, and the one of misplaced by GPU 1; staged, exchange: data go
//                                from GPU 0 to GPU 1 alone
//   hot        hot-owner         every GPU stores N and loads N words in the memory of GPU 0, which does so at GPU 1; at least 3 GPUs
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "arrays.cuh"

constexpr uint32_t kWords = 1 << 19;
constexpr uint32_t kScattered = 1 << 16;
constexpr uint32_t kWordsASector = 8;
constexpr uint32_t kAgain = 1 << 14;
constexpr uint32_t kOperations = 1 << 17;
constexpr uint32_t kSums = 64;
constexpr uint32_t kBlock = 256;

__device__ uint32_t thread() { return blockIdx.x * kBlock + threadIdx.x; }

// On the owner's own GPU: an array that was not copied.
__global__ void make(uint32_t* words, uint32_t first) { words[thread()] = first + thread(); }

__global__ void put(uint32_t* words, uint32_t first) {
    words[thread()] = first + thread();  // remote: put
}

__global__ void get(const uint32_t* words, uint32_t* own) {
    own[thread()] = words[thread()];  // remote: get
}

__global__ void put_apart(uint32_t* words, uint32_t first) {
    words[kWordsASector * thread()] = first + thread();  // remote: put_apart
}

__global__ void get_apart(const uint32_t* words, uint32_t* own) {
    own[thread()] = words[kWordsASector * thread()];  // remote: get_apart
}

__global__ void get_again(const uint32_t* words, uint32_t* own) {
    own[thread()] = words[thread() % kAgain];  // remote: get_again
}

__global__ void add(uint32_t* sums) {
    atomicAdd(&sums[thread() % kSums], 1u);  // remote: add
}

// The value at index 0 of what a GPU makes or puts; index i holds that + i.
uint32_t first_word(int gpu) { return 1000003u * (gpu + 1); }

template <typename... Parameters, typename... Arguments>
void launch(int gpu, void (*kernel)(Parameters...), uint32_t threads, Arguments... arguments) {
    CHECK(cudaSetDevice(gpu));
    kernel<<<threads / kBlock, kBlock>>>(arguments...);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

// Whether word step * i is first + i % period, for i below count.
bool holds(const Array& array, uint32_t first, uint32_t count = kWords, uint32_t step = 1, uint32_t period = kWords) {
    const auto words = array.read<uint32_t>();
    for (uint32_t i = 0; i < count; ++i)
        if (words[step * i] != first + i % period) return false;
    return true;
}

// What a GPU has: data that it made, an inbox that others put into, and what it got from others.
struct Gpu {
    int number;
    Array made, inbox, got;

    explicit Gpu(int gpu) : number(gpu), made(gpu, kBytes), inbox(gpu, kBytes), got(gpu, kBytes) {
        launch(gpu, make, kWords, made, first_word(gpu));
    }
    static constexpr size_t kBytes = kWords * sizeof(uint32_t);
};

bool put_and_get(const Gpu& issuer, const Gpu& owner, uint32_t words = kWords) {
    launch(issuer.number, put, words, owner.inbox, first_word(issuer.number));
    launch(issuer.number, get, words, owner.made, issuer.got);
    return holds(owner.inbox, first_word(issuer.number), words) && holds(issuer.got, first_word(owner.number), words);
}

bool copied_directly(const Gpu& from, const Gpu& to) {
    CHECK(cudaSetDevice(from.number));
    CHECK(cudaMemcpyPeer(to.got, to.number, from.made, from.number, Gpu::kBytes / 4));
    CHECK(cudaDeviceSynchronize());
    return holds(to.got, first_word(from.number), kWords / 4);
}

bool scattered_stores(const Gpu& issuer, const Gpu& owner) {
    launch(issuer.number, put_apart, kScattered, owner.inbox, first_word(issuer.number));
    return holds(owner.inbox, first_word(issuer.number), kScattered, kWordsASector);
}

bool scattered_loads(const Gpu& issuer, const Gpu& owner) {
    launch(issuer.number, get_apart, kScattered, owner.made, issuer.got);
    const auto got = issuer.got.read<uint32_t>();
    for (uint32_t i = 0; i < kScattered; ++i)
        if (got[i] != first_word(owner.number) + kWordsASector * i) return false;
    return true;
}

bool repeated_loads(const Gpu& issuer, const Gpu& owner) {
    launch(issuer.number, get_again, kWords, owner.made, issuer.got);
    return holds(issuer.got, first_word(owner.number), kWords, 1, kAgain);
}

bool atomics(const Gpu& issuer, const Gpu& owner) {
    launch(issuer.number, add, kOperations, owner.inbox);
    const auto sums = owner.inbox.read<uint32_t>();
    for (uint32_t i = 0; i < kSums; ++i)
        if (sums[i] != kOperations / kSums) return false;
    return true;
}

bool one_way(const Gpu& from, const Gpu& to) {
    launch(from.number, put, kWords, to.inbox, first_word(from.number));
    launch(to.number, get, kWords, from.made, to.got);
    return holds(to.inbox, first_word(from.number)) && holds(to.got, first_word(from.number));
}

// Pinned memory of the host that all GPUs reach.
struct HostMemory {
    uint32_t* words = nullptr;

    HostMemory() { CHECK(cudaHostAlloc(&words, Gpu::kBytes, cudaHostAllocPortable)); }
    ~HostMemory() { CHECK(cudaFreeHost(words)); }
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;
};

bool staged(const Gpu& from, const Gpu& to) {
    const HostMemory between;
    CHECK(cudaSetDevice(from.number));
    CHECK(cudaMemcpy(between.words, from.made, Gpu::kBytes, cudaMemcpyDeviceToHost));
    CHECK(cudaSetDevice(to.number));
    CHECK(cudaMemcpy(to.got, between.words, Gpu::kBytes, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    return holds(to.got, first_word(from.number));
}

bool exchanged(const Gpu& from, const Gpu& to) {
    const HostMemory between;
    launch(from.number, put, kWords, between.words, first_word(from.number));
    launch(to.number, get, kWords, between.words, to.got);
    return holds(to.got, first_word(from.number));
}

bool misplaced(const Gpu& holder, const Gpu& reader) {
    std::vector<uint32_t> data(kWords);
    for (uint32_t i = 0; i < kWords; ++i) data[i] = i;
    holder.inbox.write(data);
    launch(reader.number, get, kWords, holder.inbox, reader.got);
    return holds(reader.got, 0);
}

bool got(const Gpu& issuer, const Gpu& owner) {
    launch(issuer.number, get, kWords, owner.made, issuer.got);
    return holds(issuer.got, first_word(owner.number));
}

bool each(const Gpu& from, const Gpu& to) {
    return atomics(from, to) && scattered_stores(from, to) && scattered_loads(to, from) && repeated_loads(to, from) && staged(from, to) &&
           exchanged(from, to) && misplaced(from, to);
}

int main(int argc, char** argv) {
    const std::string mode = argc == 2 ? argv[1] : "";
    const int gpus = open_gpus("findings");
    if (mode == "hot" && gpus < 3) return cannot_run("findings", "a hot owner takes at least three GPUs");

    std::vector<Gpu> all;
    for (int gpu = 0; gpu < (mode == "hot" ? gpus : 2); ++gpu) all.emplace_back(gpu);
    const Gpu &zero = all[0], &one = all[1];

    bool right = true;
    if (mode == "none") {
        right = put_and_get(zero, one) && put_and_get(one, zero) && copied_directly(zero, one) && copied_directly(one, zero);
    } else if (mode == "stores") {
        right = scattered_stores(zero, one) && scattered_stores(one, zero);
    } else if (mode == "loads") {
        right = scattered_loads(zero, one) && scattered_loads(one, zero);
    } else if (mode == "again") {
        right = repeated_loads(zero, one) && repeated_loads(one, zero);
    } else if (mode == "atomics") {
        right = atomics(zero, one) && atomics(one, zero);
    } else if (mode == "one_way") {
        right = one_way(zero, one);
    } else if (mode == "staged") {
        right = staged(zero, one);
    } else if (mode == "exchange") {
        right = exchanged(zero, one);
    } else if (mode == "misplaced") {
        right = misplaced(zero, one) && got(zero, one);
    } else if (mode == "each") {
        right = each(zero, one);
    } else if (mode == "unequal") {
        right = put_and_get(zero, one) && put_and_get(one, zero, kWords / 8);
    } else if (mode == "hot") {
        for (const Gpu& gpu : all) right = put_and_get(gpu, gpu.number == 0 ? one : zero) && right;
    } else {
        std::fprintf(stderr, "usage: findings MODE    (see the table at the top of findings.cu)\n");
        return 2;
    }
    return verdict(right);
}
