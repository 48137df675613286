// Preloaded with nvshmem_calls.cpp: prints what the collector would be told.
#include <cinttypes>
#include <cstdio>

#include "libraries/nvshmem_calls.h"

namespace {

class Printer : public snoopie::SymmetricSink {
  public:
    void symmetric_allocated(const snoopie::SymmetricMemory& memory) noexcept override {
        std::printf("allocated own=0x%" PRIx64 " bytes=%" PRIu64, memory.own, memory.bytes);
        for (const uint64_t other : memory.others) std::printf(" other=0x%" PRIx64, other);
        std::printf("\n");
    }
    void symmetric_freed(uint64_t own) noexcept override { std::printf("freed own=0x%" PRIx64 "\n", own); }
};

__attribute__((constructor)) void begin() {
    static Printer& printer = *new Printer;
    snoopie::send_symmetric_memory_to(&printer);
}

}  // namespace
