#include "launches/call_lookup.h"

namespace snoopie {

CallLookup call_lookup(const Contexts* contexts, const LaunchDecision* decision, const OwnerLookup* owners) {
    const auto gpu = [owners](const void* context) { return owners->gpu_of(static_cast<CUcontext>(const_cast<void*>(context))); };
    const auto kernel = [contexts, decision](const void* context, const void* function) {
        Context* const known = contexts->find(static_cast<CUcontext>(const_cast<void*>(context)));
        return known ? decision->function(*known, static_cast<CUfunction>(const_cast<void*>(function))).name : std::string();
    };
    const auto error = [](int32_t code) -> std::string {
        const OwnCalls own;
        const char* name = nullptr;
        return cuGetErrorName(static_cast<CUresult>(code), &name) == CUDA_SUCCESS && name ? name : "";
    };
    return {gpu, kernel, error};
}

}  // namespace snoopie
