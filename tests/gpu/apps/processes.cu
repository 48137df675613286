// processes VIEW N: one process a GPU, each writes to the memory of the next process's GPU in every way in which a process can
// reach another's memory. VIEW says which GPUs each process sees: `all` in the order of CUDA_VISIBLE_DEVICES (which must be
// set), `turned`: all, beginning with its own, `own`: only its own.
//
// Remote traffic of process i, issuer GPU i, owner GPU i + 1 (of the G that CUDA_VISIBLE_DEVICES names), one launch a line:
//   way         kernel  operation  accesses      lanes  bytes/lane  sectors
//   ipc         put     store      ceil(n / 32)  n      4           ceil(n / 8)    n = N: an allocation
//               put     store      as above                                        n = N + 1: inside a large allocation
//   neighbours  put     store      as above                                        n = N + 2 and, in a launch of its own,
//               put     store      as above                                        n = N + 3: small allocations side by side
//   mapping     put     store      as above                                        n = N + 4: virtual memory, file descriptor
//   pool        put     store      as above                                        n = N + 5: an exported pool
//   fabric      put     store      as above                                        n = N + 6: virtual memory, fabric handle
// Each process prints of each way how it found what the process before it should have written: right, wrong, or not here,
// where memory could not be exported or imported in this way.
#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "channel.h"
#include "common.cuh"
#include "range.cuh"

__global__ void put(uint32_t* words, uint32_t n, uint32_t first) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] = first + i;  // remote: put
}

// One of the processes. All indices are of the G GPUs that the parent was given.
struct Process {
    int index;
    int count;
    int gpu;       // its own, as CUDA numbers it here
    int previous;  // socket to the process that writes to this one's memory
    int next;      // socket to the process whose memory this one writes to
    uint32_t words;
};

// Memory that one process writes to.
struct Piece {
    uint32_t* words;
    uint32_t n;
};

uint32_t first_word(int writer, uint32_t n) { return writer * 0x9E3779B9u + n * 0x85EBCA6Bu; }

void store(const Process& self, const Piece& piece) {
    put<<<(piece.n + 255) / 256, 256>>>(piece.words, piece.n, first_word(self.index, piece.n));
    CHECK(cudaGetLastError());
}

bool was_written(const Process& self, const Piece& piece) {
    const uint32_t first = first_word((self.index + self.count - 1) % self.count, piece.n);
    std::vector<uint32_t> words(piece.n);
    CHECK(cudaMemcpy(words.data(), piece.words, piece.n * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    bool right = true;
    for (uint32_t i = 0; i < piece.n; ++i) right = right && words[i] == first + i;
    return right;
}

// Whether a call that may be refused here was not. Says on stderr what was.
#define PERMITTED(call) permitted((call), #call)

bool permitted(cudaError_t status, const char* call) {
    if (status == cudaSuccess) return true;
    cudaGetLastError();  // forgets it
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(status));
    return false;
}

bool permitted(CUresult status, const char* call) { return permitted(static_cast<cudaError_t>(status), call); }

// What the previous process needs to reach this one's memory.
template <typename Handle>
struct Offer {
    bool here = false;
    Handle handle{};
};

// Hands an offer to the previous process and takes the next one's. `visit(handle, descriptor)` opens that memory, writes to it
// and closes it; it returns false where it cannot be opened. Returns when `pieces`, the own memory, have been written to.
template <typename Handle, typename Visit>
Outcome exchange(const Process& self, const Offer<Handle>& own, int descriptor, const std::vector<Piece>& pieces, Visit visit) {
    for (const Piece& piece : pieces) CHECK(cudaMemset(piece.words, 0, piece.n * sizeof(uint32_t)));
    CHECK(cudaDeviceSynchronize());
    send_value(self.previous, own, descriptor);
    int received = -1;
    const auto offer = receive_value<Offer<Handle>>(self.next, &received);
    send_value(self.next, offer.here && visit(offer.handle, received));
    if (received >= 0) close(received);
    if (!receive_value<bool>(self.previous)) return Outcome::not_here;
    bool right = true;
    for (const Piece& piece : pieces) right = right && was_written(self, piece);
    return outcome(right);
}

// An allocation, as another process opens it, and the part of it to write to.
struct IpcPiece {
    cudaIpcMemHandle_t allocation;
    size_t offset;  // words
};

Outcome by_ipc(const Process& self, std::array<uint32_t, 2> n, std::array<uint32_t*, 2> allocations, std::array<size_t, 2> offsets) {
    using Handle = std::array<IpcPiece, 2>;
    Offer<Handle> own{true, {}};
    std::vector<Piece> pieces;
    for (int k = 0; k < 2; ++k) {
        own.here = own.here && PERMITTED(cudaIpcGetMemHandle(&own.handle[k].allocation, allocations[k]));
        own.handle[k].offset = offsets[k];
        pieces.push_back({allocations[k] + offsets[k], n[k]});
    }
    const auto visit = [&](const Handle& handle, int) {
        std::vector<void*> opened;
        for (const IpcPiece& piece : handle) {
            void* memory = nullptr;
            if (PERMITTED(cudaIpcOpenMemHandle(&memory, piece.allocation, cudaIpcMemLazyEnablePeerAccess))) opened.push_back(memory);
        }
        const bool all = opened.size() == handle.size();
        for (size_t k = 0; all && k < handle.size(); ++k) store(self, {static_cast<uint32_t*>(opened[k]) + handle[k].offset, n[k]});
        CHECK(cudaDeviceSynchronize());
        for (void* memory : opened) CHECK(cudaIpcCloseMemHandle(memory));
        return all;
    };
    return exchange(self, own, -1, pieces, visit);
}

Outcome ipc(const Process& self) {
    constexpr size_t kInside = (3 << 20) + 64;  // bytes
    const std::array<uint32_t, 2> n = {self.words, self.words + 1};
    std::array<uint32_t*, 2> allocations{};
    CHECK(cudaMalloc(&allocations[0], n[0] * sizeof(uint32_t)));
    CHECK(cudaMalloc(&allocations[1], kInside + n[1] * sizeof(uint32_t)));
    const Outcome ended = by_ipc(self, n, allocations, {0, kInside / sizeof(uint32_t)});
    for (uint32_t* allocation : allocations) CHECK(cudaFree(allocation));
    return ended;
}

Outcome neighbours(const Process& self) {
    const std::array<uint32_t, 2> n = {self.words + 2, self.words + 3};
    std::array<uint32_t*, 2> allocations{};
    for (int k = 0; k < 2; ++k) CHECK(cudaMalloc(&allocations[k], n[k] * sizeof(uint32_t)));
    const Outcome ended = by_ipc(self, n, allocations, {0, 0});
    for (uint32_t* allocation : allocations) CHECK(cudaFree(allocation));
    return ended;
}

// How virtual memory goes to another process: as a file descriptor beside the message, or as a value in it.
struct ByDescriptor {
    static constexpr CUmemAllocationHandleType kType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    using Handle = char;
    static CUresult give(CUmemGenericAllocationHandle memory, Handle*, int* descriptor) {
        return DRIVER(cuMemExportToShareableHandle)(descriptor, memory, kType, 0);
    }
    static CUresult take(CUmemGenericAllocationHandle* memory, const Handle&, int descriptor) {
        void* const value = reinterpret_cast<void*>(static_cast<uintptr_t>(descriptor));
        return DRIVER(cuMemImportFromShareableHandle)(memory, value, kType);
    }
};

struct ByFabric {
    static constexpr CUmemAllocationHandleType kType = CU_MEM_HANDLE_TYPE_FABRIC;
    using Handle = CUmemFabricHandle;
    static CUresult give(CUmemGenericAllocationHandle memory, Handle* handle, int*) {
        return DRIVER(cuMemExportToShareableHandle)(handle, memory, kType, 0);
    }
    static CUresult take(CUmemGenericAllocationHandle* memory, Handle handle, int) {
        return DRIVER(cuMemImportFromShareableHandle)(memory, &handle, kType);
    }
};

template <typename By>
Outcome by_mapping(const Process& self, uint32_t n) {
    using Handle = typename By::Handle;
    const CUmemAllocationProp properties = memory_of_gpu(self.gpu, By::kType);
    // Those of another process's memory are the same.
    const size_t chunk = chunk_size(memory_of_gpu(self.gpu));
    const size_t bytes = (n * sizeof(uint32_t) + chunk - 1) / chunk * chunk;
    Range range(self.gpu, bytes, 1);
    Offer<Handle> own;
    int descriptor = -1;
    std::vector<Piece> pieces;
    CUmemGenericAllocationHandle memory = 0;
    if (PERMITTED(DRIVER(cuMemCreate)(&memory, bytes, &properties, 0))) {
        own.here = PERMITTED(By::give(memory, &own.handle, &descriptor));
        range.map(0, memory);
        pieces.push_back({range.words(), n});
    }
    const auto visit = [&](const Handle& handle, int received) {
        CUmemGenericAllocationHandle imported = 0;
        if (!PERMITTED(By::take(&imported, handle, received))) return false;
        Range theirs(self.gpu, bytes, 1);
        theirs.map(0, imported);
        store(self, {theirs.words(), n});
        CHECK(cudaDeviceSynchronize());
        return true;
    };
    const Outcome ended = exchange(self, own, descriptor, pieces, visit);
    if (descriptor >= 0) close(descriptor);
    return ended;
}

Outcome mapping(const Process& self) { return by_mapping<ByDescriptor>(self, self.words + 4); }

Outcome fabric(const Process& self) {
    if (attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, self.gpu)) return by_mapping<ByFabric>(self, self.words + 6);
    return exchange(self, Offer<ByFabric::Handle>{}, -1, {}, [](const ByFabric::Handle&, int) { return false; });
}

Outcome pool(const Process& self) {
    constexpr cudaMemAllocationHandleType kType = cudaMemHandleTypePosixFileDescriptor;
    using Handle = cudaMemPoolPtrExportData;
    const uint32_t n = self.words + 5;
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.handleTypes = kType;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = self.gpu;
    cudaMemPool_t own_pool = nullptr;
    uint32_t* words = nullptr;
    Offer<Handle> own;
    int descriptor = -1;
    std::vector<Piece> pieces;
    if (PERMITTED(cudaMemPoolCreate(&own_pool, &properties))) {
        CHECK(cudaMallocFromPoolAsync(&words, n * sizeof(uint32_t), own_pool, nullptr));
        CHECK(cudaStreamSynchronize(nullptr));
        own.here = PERMITTED(cudaMemPoolExportToShareableHandle(&descriptor, own_pool, kType, 0)) &&
                   PERMITTED(cudaMemPoolExportPointer(&own.handle, words));
        pieces.push_back({words, n});
    }
    const auto visit = [&](Handle handle, int received) {
        cudaMemPool_t theirs;
        void* const value = reinterpret_cast<void*>(static_cast<uintptr_t>(received));
        if (!PERMITTED(cudaMemPoolImportFromShareableHandle(&theirs, value, kType, 0))) return false;
        cudaMemAccessDesc access{};
        access.location.type = cudaMemLocationTypeDevice;
        access.location.id = self.gpu;
        access.flags = cudaMemAccessFlagsProtReadWrite;
        void* memory = nullptr;
        const bool opened =
            PERMITTED(cudaMemPoolSetAccess(theirs, &access, 1)) && PERMITTED(cudaMemPoolImportPointer(&memory, theirs, &handle));
        if (opened) {
            store(self, {static_cast<uint32_t*>(memory), n});
            CHECK(cudaFreeAsync(memory, nullptr));
            CHECK(cudaDeviceSynchronize());
        }
        CHECK(cudaMemPoolDestroy(theirs));
        return opened;
    };
    const Outcome ended = exchange(self, own, descriptor, pieces, visit);
    if (descriptor >= 0) close(descriptor);
    if (words != nullptr) {
        CHECK(cudaFreeAsync(words, nullptr));
        CHECK(cudaStreamSynchronize(nullptr));
    }
    if (own_pool != nullptr) CHECK(cudaMemPoolDestroy(own_pool));
    return ended;
}

// The names in CUDA_VISIBLE_DEVICES.
std::vector<std::string> named_gpus() {
    std::vector<std::string> names;
    const char* const list = std::getenv("CUDA_VISIBLE_DEVICES");
    std::string rest = list == nullptr ? "" : list;
    while (!rest.empty()) {
        const size_t comma = std::min(rest.find(','), rest.size());
        names.push_back(rest.substr(0, comma));
        rest.erase(0, comma + 1);
    }
    return names;
}

// Changes which GPUs this process sees; before its first call of CUDA. Returns the number of its own among them.
int take_view(const std::string& view, int index, const std::vector<std::string>& names) {
    if (view == "all") return index;
    std::string seen = names[index];
    for (size_t k = 1; view == "turned" && k < names.size(); ++k) seen += "," + names[(index + k) % names.size()];
    setenv("CUDA_VISIBLE_DEVICES", seen.c_str(), 1);
    return 0;
}

int run_process(const Process& self) {
    CHECK(cudaSetDevice(self.gpu));
    const struct {
        const char* name;
        Outcome (*run)(const Process&);
    } ways[] = {{"ipc", ipc}, {"neighbours", neighbours}, {"mapping", mapping}, {"pool", pool}, {"fabric", fabric}};
    bool right = true;
    for (const auto& way : ways) {
        const Outcome ended = way.run(self);
        std::printf("process %d: %s: %s\n", self.index, way.name, text(ended));
        right = right && ended != Outcome::wrong;
    }
    return right ? 0 : 1;
}

// A process under way, and where its output arrives.
struct Child {
    pid_t pid;
    int output;
};

Child start(std::vector<std::string> command, const std::vector<int>& kept) {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    int output[2];
    pid_t pid = -1;
    if (pipe2(output, O_CLOEXEC) == 0) pid = fork();
    if (pid < 0) {
        std::perror("processes");
        std::exit(1);
    }
    if (pid == 0) {
        for (const int descriptor : kept) fcntl(descriptor, F_SETFD, 0);
        dup2(output[1], STDOUT_FILENO);
        execv(program.c_str(), words.data());
        _exit(127);
    }
    close(output[1]);
    return {pid, output[0]};
}

// Prints what a process prints, to its end. Returns whether it found everything right.
bool finish(const Child& child) {
    char part[4096];
    ssize_t bytes;
    while ((bytes = read(child.output, part, sizeof part)) > 0) std::fwrite(part, 1, bytes, stdout);
    int status = 0;
    return waitpid(child.pid, &status, 0) == child.pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The program starts itself once a GPU, as: processes VIEW N INDEX PREVIOUS NEXT
int main(int argc, char** argv) {
    const char* usage = "processes VIEW N    (VIEW all, turned or own; N from 1 to 2^20)";
    const std::string view = argc == 3 || argc == 6 ? argv[1] : "";
    const uint32_t n = argument(view == "all" || view == "turned" || view == "own" ? argv[2] : nullptr, 1, 1 << 20, usage);
    const std::vector<std::string> names = named_gpus();
    const int count = names.size();
    if (argc == 6) {
        const int index = argument(argv[3], 0, count - 1, usage);
        const int previous = argument(argv[4], 0, 1 << 20, usage), next = argument(argv[5], 0, 1 << 20, usage);
        return run_process({index, count, take_view(view, index, names), previous, next, n});
    }
    if (count < 2) {
        std::printf("processes: needs at least two GPUs in CUDA_VISIBLE_DEVICES, has %d\n", count);
        return kCannotRun;
    }
    // Each joins a process (one) to the process before it (other).
    std::vector<Ends> sockets;
    for (int index = 0; index < count; ++index) sockets.push_back(connected_sockets());
    std::vector<Child> children;
    for (int index = 0; index < count; ++index) {
        const int previous = sockets[index].one, next = sockets[(index + 1) % count].other;
        children.push_back(
            start({argv[0], view, argv[2], std::to_string(index), std::to_string(previous), std::to_string(next)}, {previous, next}));
    }
    for (const Ends& ends : sockets) {
        close(ends.one);
        close(ends.other);
    }
    bool right = true;
    for (const Child& child : children) right = finish(child) && right;
    return verdict(right);
}
