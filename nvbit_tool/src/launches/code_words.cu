// Kernels of the collector: code can be read and written by kernels alone.
#include "launches/word_batch.h"

using namespace snoopie;

// In the first half of an instruction of sm_70 and later.
constexpr int kGuardBit = 12;
constexpr unsigned long long kGuardBits = 0xf;

extern "C" __global__ void snoopie_keep_words(const __grid_constant__ WordBatch batch) {
    const uint32_t i = threadIdx.x;
    if (i >= batch.count) return;
    const auto* word = reinterpret_cast<const volatile unsigned long long*>(batch.code + batch.offsets[i]);
    reinterpret_cast<ulonglong2*>(batch.words)[i] = make_ulonglong2(word[0], word[1]);
}

extern "C" __global__ void snoopie_restore_words(const __grid_constant__ WordBatch batch) {
    const uint32_t i = threadIdx.x;
    if (i >= batch.count) return;
    auto* const word = reinterpret_cast<ulonglong2*>(batch.code + batch.offsets[i]);
    if (!(batch.live[i / 32] >> i % 32 & 1)) {
        *word = reinterpret_cast<const ulonglong2*>(batch.words)[i];
    } else if (batch.guards[i] != kUnguarded) {
        auto* const first = reinterpret_cast<volatile unsigned long long*>(word);
        const unsigned long long jump = *first;
        if ((jump >> kGuardBit & kGuardBits) != kUnguarded) return;
        *first = (jump & ~(kGuardBits << kGuardBit)) | static_cast<unsigned long long>(batch.guards[i]) << kGuardBit;
    }
    __threadfence_system();
}
