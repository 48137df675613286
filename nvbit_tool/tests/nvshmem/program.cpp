// program: what a program does with NVSHMEM. program NAME: a function of NVSHMEM by name, where no library has it.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>

extern "C" {
__attribute__((weak)) void* nvshmem_malloc(size_t size);
__attribute__((weak)) void* nvshmem_calloc(size_t count, size_t size);
__attribute__((weak)) void* nvshmem_align(size_t alignment, size_t size);
__attribute__((weak)) void nvshmem_free(void* own);
}

int main(int argc, char** argv) {
    if (argc > 1) {
        const auto found = reinterpret_cast<void* (*)(size_t)>(dlsym(RTLD_DEFAULT, argv[1]));
        std::printf("result=%p\n", found(8));
        return 0;
    }
    void* const first = nvshmem_malloc(1000);
    std::printf("got own=%p\n", first);
    void* const second = nvshmem_calloc(10, 8);
    std::printf("got own=%p\n", second);
    void* const third = nvshmem_align(4096, 64);
    std::printf("got own=%p\n", third);
    std::printf("got own=%p\n", nvshmem_malloc(666));
    nvshmem_free(second);
    nvshmem_free(nullptr);
    nvshmem_free(first);
    return 0;
}
