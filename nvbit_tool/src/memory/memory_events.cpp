#include "memory/memory_events.h"

#include <utility>

namespace snoopie {

MemoryEvents::MemoryEvents(Memory* memory, TraceWriter* writer, std::vector<GpuInfo> gpus, PoolBytes* pool_bytes,
                           DeviceOwners::GpuOf gpu_of, NewObjects::MakerOf maker_of)
    : owners_(std::move(gpus), std::move(gpu_of)),
      objects_(memory, std::move(maker_of)),
      access_(memory, &owners_),
      plain_(&objects_, &owners_),
      managed_(memory, &owners_),
      pools_(memory, &objects_, &owners_, &access_, pool_bytes),
      imports_(memory, &objects_, &owners_),
      multicast_(writer, &owners_),
      mappings_(memory, &objects_, &owners_, &imports_, &multicast_),
      arrays_(memory, &objects_, &owners_),
      frees_(memory, &imports_, &mappings_, &pools_.use()) {}

void MemoryEvents::before(nvbit_api_cuda_t cbid, const void* params) {
    frees_.before(cbid, params);
    mappings_.before(cbid, params);
    pools_.before(cbid, params);
}

void MemoryEvents::after(CUcontext context, nvbit_api_cuda_t cbid, const char* name, const void* params, bool succeeded) {
    NewObjects::in_call(name);
    frees_.after(cbid, succeeded);
    mappings_.after(cbid, params, succeeded);
    if (!succeeded) return;
    plain_.after(context, cbid, params);
    pools_.after(context, cbid, params);
    access_.after(context, cbid, params);
    imports_.after(context, cbid, params);
    managed_.after(cbid, params);
    arrays_.after(context, cbid, params);
    multicast_.after(cbid, params);
}

void MemoryEvents::program_exits() {
    pools_.use().look_now();
    imports_.close();
}

}  // namespace snoopie
