// NVBit's callbacks: they sort driver events and hand them to the collector.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "collector.h"
#include "nvbit.h"
#include "options.h"

using snoopie::Collector;
using snoopie::Launch;
using snoopie::LaunchCall;
using snoopie::OwnCalls;

namespace {

// Never deleted: callbacks of other threads can still come while the process ends.
Collector* collector = nullptr;
std::once_flag started;

// Of this thread's calls that are between entry and exit.
thread_local std::vector<Launch> launches;
thread_local std::vector<std::optional<snoopie::Object>> frees;

// The driver loads tools from this variable only; with it a plain LD_PRELOAD is enough.
__attribute__((constructor(101))) void name_the_tool_to_the_driver() {
    Dl_info self;
    if (dladdr(reinterpret_cast<void*>(&name_the_tool_to_the_driver), &self) && self.dli_fname) {
        char* path = realpath(self.dli_fname, nullptr);
        if (path) setenv("CUDA_INJECTION64_PATH", path, 0);
        free(path);
    }
    // Lines that NVBit would print.
    setenv("NOBANNER", "1", 0);
    setenv("ACK_CTX_INIT_LIMITATION", "1", 0);
}

void start() {
    const auto settings = snoopie::read_options(getenv);
    if (const auto* error = std::get_if<snoopie::OptionError>(&settings)) {
        fflush(nullptr);
        fprintf(stderr, "snoopie: %s\n", error->sentence.c_str());
        _exit(2);
    }
    collector = new Collector(std::get<snoopie::Options>(settings), [] { nvbit_set_tool_pthread(pthread_self()); });
    // Runs before the driver's own end, which was registered earlier.
    std::atexit([] { collector->finish(); });
}

CUstream stream_of(CUstream stream, bool per_thread) {
    if (stream) return stream;
    return per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

template <class Params>
LaunchCall plain_launch(const void* params, bool per_thread) {
    const auto* p = static_cast<const Params*>(params);
    return {p->f,
            stream_of(p->hStream, per_thread),
            {p->gridDimX, p->gridDimY, p->gridDimZ},
            {p->blockDimX, p->blockDimY, p->blockDimZ},
            p->sharedMemBytes};
}

LaunchCall extended_launch(const void* params, bool per_thread) {
    const auto* p = static_cast<const cuLaunchKernelEx_params*>(params);
    const CUlaunchConfig& c = *p->config;
    return {p->f,
            stream_of(c.hStream, per_thread),
            {c.gridDimX, c.gridDimY, c.gridDimZ},
            {c.blockDimX, c.blockDimY, c.blockDimZ},
            c.sharedMemBytes};
}

std::optional<LaunchCall> launch_call(nvbit_api_cuda_t cbid, const void* params) {
    switch (cbid) {
        case API_CUDA_cuLaunchKernel:
            return plain_launch<cuLaunchKernel_params>(params, false);
        case API_CUDA_cuLaunchKernel_ptsz:
            return plain_launch<cuLaunchKernel_params>(params, true);
        case API_CUDA_cuLaunchCooperativeKernel:
            return plain_launch<cuLaunchCooperativeKernel_params>(params, false);
        case API_CUDA_cuLaunchCooperativeKernel_ptsz:
            return plain_launch<cuLaunchCooperativeKernel_params>(params, true);
        case API_CUDA_cuLaunchKernelEx:
            return extended_launch(params, false);
        case API_CUDA_cuLaunchKernelEx_ptsz:
            return extended_launch(params, true);
        default:
            return std::nullopt;
    }
}

bool capturing(CUstream stream) {
    const OwnCalls own;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void at_launch(CUcontext context, bool is_exit, const LaunchCall& call, bool succeeded) {
    if (is_exit) {
        if (launches.empty()) return;
        Launch launch = std::move(launches.back());
        launches.pop_back();
        collector->after_launch(std::move(launch), succeeded);
    } else if (capturing(call.stream)) {
        collector->into_graph(context, call.function);
        launches.emplace_back();
    } else {
        launches.push_back(collector->before_launch(context, call));
    }
}

void at_graph_launch(bool is_exit, bool succeeded) {
    if (!is_exit) return;
    // Of the nodes, announced between entry and exit.
    std::vector<Launch> nodes;
    nodes.swap(launches);
    for (Launch& node : nodes) collector->after_launch(std::move(node), succeeded);
}

void at_free(bool is_exit, CUdeviceptr address, bool succeeded) {
    if (!is_exit) {
        frees.push_back(collector->freeing(address));
    } else if (!frees.empty()) {
        if (frees.back()) collector->freed(*frees.back(), succeeded);
        frees.pop_back();
    }
}

void at_event(CUcontext context, bool is_exit, nvbit_api_cuda_t cbid, const char* name, void* params, bool succeeded) {
    if (const auto call = launch_call(cbid, params)) return at_launch(context, is_exit, *call, succeeded);
    switch (cbid) {
        case API_CUDA_cuGraphLaunch:
        case API_CUDA_cuGraphLaunch_ptsz:
            return at_graph_launch(is_exit, succeeded);
        case API_CUDA_cuGraphAddKernelNode:
            if (!is_exit) collector->into_graph(context, static_cast<cuGraphAddKernelNode_params*>(params)->nodeParams->func);
            return;
        case API_CUDA_cuGraphAddKernelNode_v2:
            if (!is_exit) collector->into_graph(context, static_cast<cuGraphAddKernelNode_v2_params*>(params)->nodeParams->func);
            return;
        case API_CUDA_cuMemAlloc_v2: {
            const auto* p = static_cast<cuMemAlloc_v2_params*>(params);
            if (succeeded) collector->allocated(context, *p->dptr, p->bytesize);
            return;
        }
        case API_CUDA_cuMemAllocPitch_v2: {
            const auto* p = static_cast<cuMemAllocPitch_v2_params*>(params);
            if (succeeded) collector->allocated(context, *p->dptr, *p->pPitch * p->Height);
            return;
        }
        case API_CUDA_cuMemFree_v2:
            return at_free(is_exit, static_cast<cuMemFree_v2_params*>(params)->dptr, succeeded);
        case API_CUDA_cuCtxEnablePeerAccess:
            if (succeeded) collector->peer_access(context, static_cast<cuCtxEnablePeerAccess_params*>(params)->peerContext, true);
            return;
        case API_CUDA_cuMemMap:
        case API_CUDA_cuMemMapArrayAsync:
        case API_CUDA_cuMemMapArrayAsync_ptsz:
        case API_CUDA_cuIpcOpenMemHandle:
        case API_CUDA_cuIpcOpenMemHandle_v2:
        case API_CUDA_cuMemPoolImportPointer:
            if (succeeded) collector->not_followed(name, true);
            return;
        case API_CUDA_cuMemAllocManaged:
        case API_CUDA_cuMemAllocAsync:
        case API_CUDA_cuMemAllocAsync_ptsz:
        case API_CUDA_cuMemAllocFromPoolAsync:
        case API_CUDA_cuMemAllocFromPoolAsync_ptsz:
        case API_CUDA_cuGraphAddMemAllocNode:
        case API_CUDA_cuLaunchCooperativeKernelMultiDevice:
            if (succeeded) collector->not_followed(name, false);
            return;
        case API_CUDA_cuCtxDisablePeerAccess:
            if (succeeded) collector->peer_access(context, static_cast<cuCtxDisablePeerAccess_params*>(params)->peerContext, false);
            return;
        default:
            return;
    }
}

// An exception must not pass through the driver: it costs the trace, not the application.
template <class Action>
void guarded(Action action) {
    try {
        action();
    } catch (const std::exception& error) {
        if (collector) collector->give_up(error.what());
    }
}

}  // namespace

void nvbit_at_init() {}

void nvbit_at_term() {
    if (collector) collector->finish();
}

void nvbit_at_ctx_init(CUcontext context) {
    if (OwnCalls::active()) return;
    guarded([&] {
        std::call_once(started, start);
        collector->context_created(context);
    });
}

void nvbit_tool_init(CUcontext context) {
    if (collector) guarded([&] { collector->context_ready(context); });
}

void nvbit_at_ctx_term(CUcontext context) {
    if (collector) guarded([&] { collector->context_ending(context); });
}

void nvbit_at_graph_node_launch(CUcontext context, CUfunction function, CUstream stream, uint64_t launch_handle) {
    if (!collector) return;
    func_config_t config{};
    nvbit_get_func_config(context, function, &config);
    const LaunchCall call{function,
                          stream,
                          {config.gridDimX, config.gridDimY, config.gridDimZ},
                          {config.blockDimX, config.blockDimY, config.blockDimZ},
                          config.shmem_dynamic_nbytes};
    guarded([&] { launches.push_back(collector->before_graph_node(context, call, launch_handle)); });
}

void nvbit_at_cuda_event(CUcontext context, int is_exit, nvbit_api_cuda_t cbid, const char* name, void* params, CUresult* status) {
    if (!collector || OwnCalls::active()) return;
    const bool succeeded = is_exit && status && *status == CUDA_SUCCESS;
    guarded([&] { at_event(context, is_exit != 0, cbid, name, params, succeeded); });
}
