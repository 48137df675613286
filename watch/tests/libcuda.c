// A driver without GPUs: it hands out addresses and handles, and fails where it is told to. Its functions have the real ones' parameters.

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default"), noinline))
typedef int result;
typedef uint64_t address;

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_FOUND = 500 };

struct context {
    int device;
};
struct kernel {
    uint64_t before[3];
    const char* name;
};

static struct context contexts[2] = {{0}, {1}};
static __thread struct context* stack[8];
static __thread int depth;
#define current stack[depth]
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// What was freed last is handed out first, as allocators do.
#define KEPT 4096
static struct {
    address at;
    size_t bytes;
} live[1 << 20], freed[KEPT];
static size_t live_count, freed_count;
static address next = 0x700000000000;

static result make(address* at, size_t bytes) {
    if (!bytes) return INVALID_VALUE;
    if (bytes > (size_t)1 << 40) return OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    *at = 0;
    if (freed_count && freed[freed_count - 1].bytes == bytes) *at = freed[--freed_count].at;
    if (!*at) {
        *at = next;
        next += (bytes + 511) / 512 * 512;
    }
    if (live_count < sizeof(live) / sizeof(*live)) {
        live[live_count].at = *at;
        live[live_count++].bytes = bytes;
    }
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

static result end(address at) {
    result found = INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (size_t i = live_count; i-- > 0;) {
        if (live[i].at != at) continue;
        if (freed_count < KEPT) freed[freed_count++] = (typeof(*freed)){at, live[i].bytes};
        live[i] = live[--live_count];
        found = SUCCESS;
        break;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

EXPORT result cuInit(unsigned flags) { return flags ? INVALID_VALUE : SUCCESS; }
EXPORT result cuDeviceGetCount(int* count) { return *count = 2, SUCCESS; }

EXPORT result cuDevicePrimaryCtxRetain(struct context** context, int device) {
    if (device < 0 || device > 1) return 101;
    *context = &contexts[device];
    return SUCCESS;
}
EXPORT result cuCtxSetCurrent(struct context* context) { return current = context, SUCCESS; }
EXPORT result cuCtxPushCurrent_v2(struct context* context) { return stack[++depth] = context, SUCCESS; }
EXPORT result cuCtxPopCurrent_v2(struct context** context) { return *context = stack[depth--], SUCCESS; }
EXPORT result cuCtxGetCurrent(struct context** context) { return *context = current, SUCCESS; }
// Answers once the file that STUB_HOLDS names is gone.
EXPORT result cuCtxGetDevice(int* device) {
    const char* held = getenv("STUB_HOLDS");
    while (held && !access(held, F_OK)) usleep(1000);
    return current ? (*device = current->device, SUCCESS) : 201;
}
EXPORT result cuCtxSynchronize(void) { return usleep(1000), SUCCESS; }
EXPORT result cuStreamSynchronize(void* stream) { return (void)stream, usleep(1000), SUCCESS; }

EXPORT result cuMemAlloc_v2(address* at, size_t bytes) { return make(at, bytes); }
EXPORT result cuMemAllocAsync(address* at, size_t bytes, void* stream) { return (void)stream, make(at, bytes); }
EXPORT result cuMemAllocAsync_ptsz(address* at, size_t bytes, void* stream) { return (void)stream, make(at, bytes); }
EXPORT result cuMemAllocManaged(address* at, size_t bytes, unsigned flags) { return (void)flags, make(at, bytes); }
EXPORT result cuMemHostAlloc(void** at, size_t bytes, unsigned flags) { return (void)flags, make((address*)at, bytes); }
EXPORT result cuMemAllocPitch_v2(address* at, size_t* pitch, size_t width, size_t height, unsigned element) {
    (void)element;
    *pitch = (width + 511) / 512 * 512;
    return make(at, *pitch * height);
}
EXPORT result cuMemCreate(address* handle, size_t bytes, const void* properties, uint64_t flags) {
    return (void)properties, (void)flags, make(handle, bytes);
}
EXPORT result cuMemMap(address at, size_t bytes, size_t offset, address handle, uint64_t flags) {
    return (void)at, (void)bytes, (void)offset, (void)handle, (void)flags, SUCCESS;
}
EXPORT result cuMemUnmap(address at, size_t bytes) { return (void)at, (void)bytes, SUCCESS; }
EXPORT result cuMemRelease(address handle) { return end(handle); }
EXPORT result cuMemFree_v2(address at) { return end(at); }
EXPORT result cuMemFreeAsync(address at, void* stream) { return (void)stream, end(at); }
EXPORT result cuMemFreeHost(void* at) { return end((address)at); }

EXPORT result cuMemcpyHtoD_v2(address to, const void* from, size_t bytes) { return (void)to, (void)from, bytes ? SUCCESS : INVALID_VALUE; }
EXPORT result cuMemcpyDtoH_v2(void* to, address from, size_t bytes) { return (void)to, (void)from, bytes ? SUCCESS : INVALID_VALUE; }
EXPORT result cuMemcpyDtoDAsync_v2(address to, address from, size_t bytes, void* stream) {
    return (void)to, (void)from, (void)stream, bytes ? SUCCESS : INVALID_VALUE;
}
EXPORT result cuMemcpyAsync(address to, address from, size_t bytes, void* stream) {
    return (void)to, (void)from, (void)stream, bytes ? SUCCESS : INVALID_VALUE;
}
EXPORT result cuMemcpyPeerAsync(address to, void* to_context, address from, void* from_context, size_t bytes, void* stream) {
    return (void)to, (void)to_context, (void)from, (void)from_context, (void)stream, bytes ? SUCCESS : INVALID_VALUE;
}
EXPORT result cuMemcpy2D_v2(const void* description) { return description ? SUCCESS : INVALID_VALUE; }
EXPORT result cuMemsetD32_v2(address at, unsigned value, size_t count) { return (void)at, (void)value, (void)count, SUCCESS; }

EXPORT result cuModuleGetFunction(struct kernel** kernel, void* module, const char* name) {
    (void)module;
    *kernel = calloc(1, sizeof(**kernel));
    (*kernel)->name = strdup(name);
    return SUCCESS;
}
EXPORT result cuLaunchKernel(struct kernel* kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, void* stream, void** parameters, void** extra) {
    (void)gy, (void)gz, (void)by, (void)bz, (void)shared, (void)stream, (void)parameters, (void)extra;
    return kernel && gx && bx ? SUCCESS : INVALID_VALUE;
}
EXPORT result cuLaunchKernelEx(const void* config, struct kernel* kernel, void** parameters, void** extra) {
    return (void)config, (void)parameters, (void)extra, kernel ? SUCCESS : INVALID_VALUE;
}
EXPORT result cuGraphLaunch(void* graph, void* stream) { return (void)graph, (void)stream, SUCCESS; }

// Not exported, as a newer driver may have it: only cuGetProcAddress knows it.
static __attribute__((noinline)) result hidden_free(address at) { return end(at); }

EXPORT result cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags, void* status) {
    (void)version, (void)flags, (void)status;
    static const char* const versions[] = {"_v2", ""};
    if (getenv("STUB_HIDES_FREE") && !strcmp(symbol, "cuMemFree")) return *function = (void*)hidden_free, SUCCESS;
    static void* self;
    if (!self) self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    for (size_t i = 0; i < 2; ++i) {
        char name[128];
        strcat(strcpy(name, symbol), versions[i]);
        if ((*function = dlsym(self, name))) return SUCCESS;
    }
    return NOT_FOUND;
}
