#include "driver/driver.h"

#include "driver/nvml_gpus.h"

// Drivers that lack it load the tool all the same.
#pragma weak cuStreamGetCaptureInfo_v2

namespace snoopie {

std::atomic<uint64_t> driver_errors{0};

namespace {

// Whether an OwnCalls lives on this thread.
thread_local bool relaxed = false;

}  // namespace

OwnCalls::OwnCalls() : outermost_(!relaxed) {
    relaxed = true;
    if (outermost_) cuThreadExchangeStreamCaptureMode(&mode_);
}

// A call can return the error of earlier work and be done all the same. What was exchanged tells whether it was.
OwnCalls::~OwnCalls() {
    for (int tries = 0; outermost_ && tries < 2 && mode_ != CU_STREAM_CAPTURE_MODE_RELAXED; ++tries)
        succeeded(cuThreadExchangeStreamCaptureMode(&mode_));
    relaxed = relaxed && !outermost_;
}

// As above; and the context that is current already stays, so that it can be told whether another one came.
CurrentContext::CurrentContext(CUcontext context) : context_(context) {
    if (!is_current()) pushed_ = succeeded(cuCtxPushCurrent_v2(context)) || is_current();
}

CurrentContext::~CurrentContext() {
    CUcontext ignored = nullptr;
    if (pushed_ && !succeeded(cuCtxPopCurrent_v2(&ignored)) && is_current()) cuCtxPopCurrent_v2(&ignored);
}

bool CurrentContext::is_current() const {
    CUcontext current = nullptr;
    return succeeded(cuCtxGetCurrent(&current)) && current == context_;
}

std::vector<GpuInfo> find_gpus() {
    const OwnCalls own;
    const NvmlGpus nvml;
    std::vector<GpuInfo> gpus;
    int count = 0;
    succeeded(cuDeviceGetCount(&count));
    for (int i = 0; i < count; ++i) {
        CUdevice device = 0;
        GpuInfo gpu;
        CUuuid uuid{};
        char text[256] = "";
        int major = 0;
        int minor = 0;
        size_t memory = 0;
        if (!succeeded(cuDeviceGet(&device, i))) {
            gpus.push_back(gpu);
            continue;
        }
        if (succeeded(cuDeviceGetUuid_v2(&uuid, device))) gpu.uuid = uuid_text(uuid.bytes);
        if (succeeded(cuDeviceGetName(text, sizeof text, device))) gpu.name = text;
        if (succeeded(cuDeviceGetPCIBusId(text, sizeof text, device))) gpu.pci = text;
        if (succeeded(cuDeviceTotalMem_v2(&memory, device))) gpu.memory = memory;
        succeeded(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
        succeeded(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
        gpu.sm = major * 10 + minor;
        gpu.nvlinks = nvml.nvlinks(gpu.pci);
        gpus.push_back(gpu);
    }
    nvml.add_others(&gpus);
    return gpus;
}

std::vector<LinkInfo> find_links(const std::vector<GpuInfo>& gpus) {
    const OwnCalls own;
    std::vector<LinkInfo> links;
    const auto count = static_cast<int>(std::count_if(gpus.begin(), gpus.end(), [](const GpuInfo& gpu) { return gpu.visible; }));
    for (int issuer = 0; issuer < count; ++issuer) {
        for (int owner = 0; owner < count; ++owner) {
            if (issuer == owner) continue;
            const auto attribute = [&](CUdevice_P2PAttribute which) {
                int value = 0;
                succeeded(cuDeviceGetP2PAttribute(&value, which, issuer, owner));
                return value;
            };
            links.push_back({issuer, owner, attribute(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED) != 0,
                             attribute(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED) != 0,
                             attribute(CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK)});
        }
    }
    return links;
}

std::string driver_version() {
    const OwnCalls own;
    int version = 0;
    succeeded(cuDriverGetVersion(&version));
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

bool multicast_supported(CUcontext context) {
    const int device = gpu_of(context);
    int supported = 0;
    const OwnCalls own;
    return device >= 0 && cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device) == CUDA_SUCCESS && supported;
}

int gpu_of(CUcontext context) {
    const CurrentContext current(context);
    CUdevice device = -1;
    return succeeded(cuCtxGetDevice(&device)) ? device : -1;
}

bool capturing(CUstream stream) {
    const OwnHarmlessCalls own;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUgraphNode last_captured(CUstream stream) {
    if (!cuStreamGetCaptureInfo_v2) return nullptr;
    const OwnCalls own;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUgraphNode* last = nullptr;
    size_t count = 0;
    // Not a failure of the collector where it fails: of programmatic launches this call cannot tell.
    const bool told = cuStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, &last, &count) == CUDA_SUCCESS;
    return told && count == 1 ? last[0] : nullptr;
}

StreamKind kind_of(CUstream stream) {
    if (stream == CU_STREAM_LEGACY) return StreamKind::legacy;
    if (stream == CU_STREAM_PER_THREAD) return StreamKind::blocking;
    unsigned flags = 0;
    return succeeded(cuStreamGetFlags(stream, &flags)) && !(flags & CU_STREAM_NON_BLOCKING) ? StreamKind::blocking : StreamKind::apart;
}

CUcontext context_of(CUstream stream, CUcontext current) {
    if (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return current;
    const OwnHarmlessCalls own;
    CUcontext context = nullptr;
    return cuStreamGetCtx(stream, &context) == CUDA_SUCCESS && context ? context : current;
}

std::optional<uint8_t> owner_by_driver(CUdeviceptr address) {
    const OwnCalls own;
    unsigned type = 0;
    unsigned managed = 0;
    int device = -1;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* values[] = {&type, &managed, &device};
    // Of an unknown address this is no error: the type stays 0.
    if (cuPointerGetAttributes(3, attributes, values, address) != CUDA_SUCCESS || type == 0) return std::nullopt;
    if (type == CU_MEMORYTYPE_HOST || managed) return kOwnerHost;
    return owner_of_device(device);
}

CUdeviceptr device_address(void* host) {
    const OwnCalls own;
    CUdeviceptr address = 0;
    if (cuMemHostGetDevicePointer_v2(&address, host, 0) == CUDA_SUCCESS) return address;
    // With unified addressing it is nearly always where the host sees it.
    return reinterpret_cast<CUdeviceptr>(host);
}

std::optional<uint8_t> last_prefetched_to(CUdeviceptr address, size_t bytes) {
    const OwnCalls own;
    int device = CU_DEVICE_INVALID;
    const CUresult result = cuMemRangeGetAttribute(&device, sizeof device, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, address, bytes);
    if (result != CUDA_SUCCESS || device == CU_DEVICE_INVALID) return std::nullopt;
    return device == CU_DEVICE_CPU ? kOwnerHost : owner_of_device(device);
}

}  // namespace snoopie
