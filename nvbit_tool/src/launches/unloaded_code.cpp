#include "launches/unloaded_code.h"

#include <utility>
#include <vector>

namespace snoopie {

namespace {

// Of the call that this thread is in.
thread_local std::vector<std::pair<Context*, std::vector<CUfunction>>> unloading;

}  // namespace

void UnloadedCode::at_event(CUcontext context, bool is_exit, nvbit_api_cuda_t cbid, const void* params, bool succeeded) {
    if (cbid != API_CUDA_cuModuleUnload && cbid != API_CUDA_cuLibraryUnload) return;
    const OwnCalls own;
    // Other threads load code meanwhile: what they have learned of it is forgotten with the rest.
    instrumenter_->forget_handles();
    if (is_exit) {
        for (const auto& [known, functions] : std::exchange(unloading, {}))
            if (succeeded) instrumenter_->forget(*known, known->forget(functions));
        return;
    }
    unloading.clear();
    if (cbid == API_CUDA_cuModuleUnload) {
        if (Context* const known = contexts_->find(context)) remember(*known, static_cast<const cuModuleUnload_params*>(params)->hmod);
        return;
    }
    CUlibrary const library = static_cast<const cuLibraryUnload_params*>(params)->library;
    for (Context* const one : contexts_->all()) {
        const CurrentContext there(one->handle());
        CUmodule module = nullptr;
        // It need not be loaded there.
        const CUresult answer = cuLibraryGetModule(&module, library);
        if (answer != CUDA_ERROR_NOT_FOUND && told(answer)) remember(*one, module);
    }
}

void UnloadedCode::remember(Context& context, CUmodule module) {
    std::vector<CUfunction> functions;
    for (const CUfunction function : context.handles()) {
        CUmodule of = nullptr;
        CUresult answer = cuFuncGetModule(&of, function);
        // What is launched can be the handle of a library's kernel, whatever context it runs in.
        CUfunction here = nullptr;
        if (answer == CUDA_ERROR_INVALID_HANDLE && cuKernelGetFunction(&here, reinterpret_cast<CUkernel>(function)) == CUDA_SUCCESS)
            answer = cuFuncGetModule(&of, here);
        // What is neither was of code that is gone already.
        if (answer != CUDA_ERROR_INVALID_HANDLE && told(answer) && of == module) functions.push_back(function);
    }
    if (!functions.empty()) unloading.push_back({&context, std::move(functions)});
}

bool UnloadedCode::told(CUresult answer) {
    if (succeeded(answer)) return true;
    notices_->note_once(
        "the driver did not say which kernels the program unloads: others that are loaded into their place may not be measured");
    return false;
}

}  // namespace snoopie
