#include "launches/code_words.h"

#include <algorithm>
#include <utility>

#include "nvbit.h"

// The kernels, for all architectures that the collector is built for.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    "snoopie_code_words_image:\n"
    ".incbin \"" SNOOPIE_CODE_WORDS
    "\"\n"
    ".popsection\n");
extern "C" const char snoopie_code_words_image[] __attribute__((visibility("hidden")));

namespace snoopie {

std::unique_ptr<CodeWords> CodeWords::create(CUcontext context) {
    std::unique_ptr<CodeWords> words(new CodeWords(context));
    CUmodule module = nullptr;
    if (nvbit_load_tool_module(context, snoopie_code_words_image, &module) != 0) return nullptr;
    if (nvbit_find_function_by_name(context, module, "snoopie_keep_words", &words->keep_) != 0) return nullptr;
    if (nvbit_find_function_by_name(context, module, "snoopie_restore_words", &words->restore_) != 0) return nullptr;
    if (!succeeded(cuMemAlloc_v2(&words->words_, kMostWords * kWordBytes))) return nullptr;
    return words;
}

bool CodeWords::launch(CUfunction kernel, WordBatch& batch) {
    void* arguments[] = {&batch};
    return nvbit_launch_kernel(context_, kernel, 1, 1, 1, kWordBatch, 1, 1, 0, CU_STREAM_LEGACY, arguments, nullptr) == 0;
}

WordBatch CodeWords::batch_of(const Kept& kept, size_t first) {
    WordBatch batch{kept.code, kept.words + first * kWordBytes,
                    static_cast<uint32_t>(std::min<size_t>(kWordBatch, kept.offsets.size() - first))};
    std::copy_n(kept.offsets.begin() + first, batch.count, batch.offsets);
    return batch;
}

std::optional<CodeWords::Kept> CodeWords::keep(uint64_t code, std::vector<uint32_t> offsets, std::vector<JumpGuard> guards) {
    Kept kept{code, std::move(offsets), std::move(guards), 0};
    {
        const std::unique_lock lock(mutex_);
        if (used_ + kept.offsets.size() > kMostWords) return std::nullopt;
        kept.words = words_ + used_ * kWordBytes;
        used_ += kept.offsets.size();
    }
    for (size_t first = 0; first < kept.offsets.size(); first += kWordBatch) {
        WordBatch batch = batch_of(kept, first);
        if (!launch(keep_, batch)) return std::nullopt;
    }
    return kept;
}

bool CodeWords::restore(const Kept& kept, const CallSet& live) {
    for (size_t first = 0; first < kept.offsets.size(); first += kWordBatch) {
        WordBatch batch = batch_of(kept, first);
        std::copy_n(kept.guards.begin() + first, batch.count, batch.guards);
        for (uint32_t i = 0; i < batch.count; ++i) batch.live[i / 32] |= static_cast<uint32_t>(live[first + i]) << i % 32;
        if (!launch(restore_, batch)) return false;
    }
    return true;
}

}  // namespace snoopie
