// A libnvshmem_host of three PEs, of which this is 1 and reaches 0, but not 2. It prints each call that reaches it, and, as the real one
// can, calls its own public functions.
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kMyPe = 1;
constexpr int kPes = 3;
constexpr size_t kDistance = 1 << 20;  // between the heaps of two PEs
constexpr size_t kRefused = 666;

char* reserved() {
    static char* const heaps = static_cast<char*>(std::malloc(kPes * kDistance));
    return heaps;
}

size_t used = 0;

}  // namespace

extern "C" {

int nvshmem_my_pe() { return kMyPe; }
int nvshmem_n_pes() { return kPes; }

void* nvshmem_ptr(const void* own, int pe) {
    if (pe == 2) return nullptr;
    return static_cast<char*>(const_cast<void*>(own)) + (pe - kMyPe) * static_cast<long>(kDistance);
}

void* nvshmem_align(size_t alignment, size_t size) {
    std::printf("reached function=align\n");
    if (size == kRefused) return nullptr;
    used = (used + alignment - 1) / alignment * alignment;
    char* const own = reserved() + kMyPe * kDistance + used;
    used += size;
    return own;
}

void* nvshmem_malloc(size_t size) {
    std::printf("reached function=malloc\n");
    return nvshmem_align(256, size);
}

void* nvshmem_calloc(size_t count, size_t size) {
    std::printf("reached function=calloc\n");
    return nvshmem_malloc(count * size);
}

void nvshmem_free(void*) { std::printf("reached function=free\n"); }

}  // extern "C"
