#include "code/nccl_kernels.h"

#include <cstring>

namespace snoopie {

namespace {

constexpr size_t kBatches = 32;     // offset of the first batch: comm, channelMask, workStorageType, workMask, workBuf
constexpr size_t kBatchBytes = 16;  // flags, offsetBase, offsetBitset

}  // namespace

bool has_nccl_work(const std::string& demangled) { return demangled.find("(ncclDevKernelArgsStorage<") != std::string::npos; }

std::optional<std::set<uint32_t>> nccl_functions(const void* argument, size_t bytes, uint32_t blocks, size_t entries) {
    if (!argument || bytes < kBatches) return std::nullopt;
    const size_t batches = (bytes - kBatches) / kBatchBytes;
    std::set<uint32_t> functions;
    // A block begins with the batch of its own number and goes on as each batch says.
    for (uint32_t block = 0; block < blocks; ++block) {
        size_t place = block;
        for (size_t seen = 0;; ++seen) {
            if (place >= batches || seen == batches) return std::nullopt;
            uint32_t flags;
            std::memcpy(&flags, static_cast<const char*>(argument) + kBatches + place * kBatchBytes, sizeof flags);
            const uint32_t jump = flags & 0x3fff;
            const uint32_t function = flags >> 17;
            if (function >= entries) return std::nullopt;
            functions.insert(function);
            if (jump == 0) break;
            place += jump;
        }
    }
    return functions;
}

}  // namespace snoopie
