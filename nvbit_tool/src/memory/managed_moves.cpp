#include "memory/managed_moves.h"

#include "memory/call_params.h"

namespace snoopie {

void ManagedMoves::after(nvbit_api_cuda_t cbid, const void* params) {
    switch (cbid) {
        case API_CUDA_cuMemAdvise: {
            const auto& p = as<cuMemAdvise_params>(params);
            if (p.advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION) memory_->managed_moved(p.devPtr, p.count, owners_->at(p.device));
            return;
        }
        case API_CUDA_cuMemAdvise_v2: {
            const auto& p = as<cuMemAdvise_v2_params>(params);
            if (p.advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION) memory_->managed_moved(p.devPtr, p.count, owners_->at(p.location));
            return;
        }
        case API_CUDA_cuMemPrefetchAsync:
        case API_CUDA_cuMemPrefetchAsync_ptsz: {
            const auto& p = as<cuMemPrefetchAsync_params>(params);
            return memory_->managed_moved(p.devPtr, p.count, owners_->at(p.dstDevice));
        }
        case API_CUDA_cuMemPrefetchAsync_v2:
        case API_CUDA_cuMemPrefetchAsync_v2_ptsz: {
            const auto& p = as<cuMemPrefetchAsync_v2_params>(params);
            return memory_->managed_moved(p.devPtr, p.count, owners_->at(p.location));
        }
        case API_CUDA_cuMemPrefetchBatchAsync:
        case API_CUDA_cuMemPrefetchBatchAsync_ptsz:
        case API_CUDA_cuMemDiscardAndPrefetchBatchAsync:
        case API_CUDA_cuMemDiscardAndPrefetchBatchAsync_ptsz: {
            const auto& p = as<cuMemPrefetchBatchAsync_params>(params);
            // Range i goes to the last location whose index is not beyond i.
            for (size_t i = 0, place = 0; i < p.count; ++i) {
                while (place + 1 < p.numPrefetchLocs && p.prefetchLocIdxs[place + 1] <= i) ++place;
                memory_->managed_moved(p.dptrs[i], p.sizes[i], owners_->at(p.prefetchLocs[place]));
            }
            return;
        }
        default:
            return;
    }
}

}  // namespace snoopie
