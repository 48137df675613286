// Kernels of the collector: code can be read and written by kernels alone.
#include "launches/word_batch.h"

using snoopie::WordBatch;

extern "C" __global__ void snoopie_keep_words(const __grid_constant__ WordBatch batch) {
    const uint32_t i = threadIdx.x;
    if (i >= batch.count) return;
    const auto* word = reinterpret_cast<const volatile unsigned long long*>(batch.code + batch.offsets[i]);
    reinterpret_cast<ulonglong2*>(batch.words)[i] = make_ulonglong2(word[0], word[1]);
}

extern "C" __global__ void snoopie_restore_words(const __grid_constant__ WordBatch batch) {
    const uint32_t i = threadIdx.x;
    if (i >= batch.count || (batch.live[i / 32] >> i % 32 & 1)) return;
    *reinterpret_cast<ulonglong2*>(batch.code + batch.offsets[i]) = reinterpret_cast<const ulonglong2*>(batch.words)[i];
    __threadfence_system();
}
