// Takes calls out of instrumented code.
//
// NVBit's instrumented code of a function differs from the original in the 16-byte words of the instrumented instructions alone, each of
// which is a jump to the call. With its original word in place an instruction has no call, and costs what it always did. Only a kernel can
// read and write code, and what it writes runs only once the instruction caches are empty. NVBit empties them when it puts code in place.
// So words are restored directly after that, before any launch has brought the function back into the caches. Should one have, from another
// stream, then its launches run all calls: that costs time and no access.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "driver/driver.h"
#include "launches/call_set.h"
#include "launches/word_batch.h"

namespace snoopie {

// Of one context, which is current in all calls. All work is done in the legacy default stream, as NVBit's.
class CodeWords {
  public:
    // Loads the kernels: at a time when the context may be waited for. Null if that fails.
    static std::unique_ptr<CodeWords> create(CUcontext context);

    // The original words of a function's instructions.
    struct Kept {
        uint64_t code = 0;
        std::vector<uint32_t> offsets;
        std::vector<JumpGuard> guards;
        CUdeviceptr words = 0;
    };
    // Keeps the words at these offsets, while the function's own code is in place. None if there is no room for them or the driver refuses.
    std::optional<Kept> keep(uint64_t code, std::vector<uint32_t> offsets, std::vector<JumpGuard> guards);

    // Puts the original words back where no call is `live`, and the guards into the jumps of the others. NVBit has just put the
    // instrumented code in place. False if the driver refuses.
    bool restore(const Kept& kept, const CallSet& live);

  private:
    explicit CodeWords(CUcontext context) : context_(context) {}
    static WordBatch batch_of(const Kept& kept, size_t first);
    bool launch(CUfunction kernel, WordBatch& batch);

    static constexpr size_t kWordBytes = 16;
    static constexpr size_t kMostWords = (4 << 20) / kWordBytes;

    const CUcontext context_;
    CUfunction keep_ = nullptr;
    CUfunction restore_ = nullptr;
    std::mutex mutex_;
    CUdeviceptr words_ = 0;
    size_t used_ = 0;
};

}  // namespace snoopie
