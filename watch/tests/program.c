// Makes the driver calls that it is told to, a line each on standard input, and answers "ok" when they were made.
//
//   alloc COUNT BYTES   other_alloc COUNT BYTES   host|managed|pool|pitch|physical COUNT BYTES   free COUNT   (the newest first)
//   launch KERNEL COUNT   htod|dtoh|dtod|unified|peer|copy2d COUNT BYTES   set COUNT BYTES   sync COUNT   fail COUNT   badfree COUNT
//   count COUNT (cuDeviceGetCount)   ask COUNT (cuCtxGetDevice)   device NUMBER   push NUMBER   pop   exit STATUS
//   threads N COMMAND … (64 at once)   fork N COMMAND …   churn COUNT BYTES (allocate, free)   times COUNT (prints ns a launch)
//   other NUMBER (another thread on that device, which waits)   in_other COMMAND … (has it make these calls)
//
// Where the variable ADDRESSES is set it asks cuGetProcAddress for functions, as the CUDA runtime does, else dlsym.

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t address;

static void* library;
static int (*by_address)(const char*, void**, int, uint64_t, void*);

static void* function(const char* plain, const char* exported) {
    void* found = NULL;
    if (by_address) by_address(plain, &found, 13000, 0, NULL);
    if (!found) found = dlsym(library, exported);
    if (!found) {
        fprintf(stderr, "no %s: %s\n", exported, dlerror());
        exit(2);
    }
    return found;
}

static int (*mem_alloc)(address*, size_t);
static int (*mem_free)(address);
static int (*mem_free_async)(address, void*);
static int (*free_host)(void*);
static int (*mem_release)(address);
static int (*launch_kernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
static int (*set_current)(void*);
static void* contexts[2];

static __thread struct {
    address at;
    char kind;
} made[1 << 16];
static __thread int count;

static void load(void) {
    if (library) return;
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    if (getenv("ADDRESSES")) by_address = (int (*)(const char*, void**, int, uint64_t, void*))dlsym(library, "cuGetProcAddress_v2");
    int (*init)(unsigned) = function("cuInit", "cuInit");
    int (*retain)(void**, int) = function("cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain");
    set_current = function("cuCtxSetCurrent", "cuCtxSetCurrent");
    mem_alloc = function("cuMemAlloc", "cuMemAlloc_v2");
    mem_free = function("cuMemFree", "cuMemFree_v2");
    mem_free_async = function("cuMemFreeAsync", "cuMemFreeAsync");
    free_host = function("cuMemFreeHost", "cuMemFreeHost");
    mem_release = function("cuMemRelease", "cuMemRelease");
    launch_kernel = function("cuLaunchKernel", "cuLaunchKernel");
    init(0);
    for (int device = 0; device < 2; ++device) retain(&contexts[device], device);
}

static void remember(address at, char kind) {
    made[count].at = at;
    made[count++].kind = kind;
}

__attribute__((noinline)) static void one_place(size_t bytes) {
    address at;
    if (!mem_alloc(&at, bytes)) remember(at, 'd');
}

__attribute__((noinline)) static void another_place(size_t bytes) {
    address at;
    if (!mem_alloc(&at, bytes)) remember(at, 'd');
}

static void free_newest(void) {
    if (!count) return;
    address at = made[--count].at;
    switch (made[count].kind) {
        case 'd':
            mem_free(at);
            break;
        case 'p':
            mem_free_async(at, NULL);
            break;
        case 'h':
            free_host((void*)at);
            break;
        case 'v':
            mem_release(at);
            break;
    }
}

// A thread that makes the calls of a line, whenever there is one.
static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_there;
    char* line;
} other = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
};

static void run(char* line);

static void* run_when_told(void* context) {
    set_current(context);
    pthread_mutex_lock(&other.lock);
    for (other.is_there = 1;; other.line = NULL) {
        pthread_cond_signal(&other.changed);
        while (!other.line) pthread_cond_wait(&other.changed, &other.lock);
        run(other.line);
    }
    return NULL;
}

// Waits until it has done what it was told, or, at first, until it is there.
static void tell_other(char* line) {
    pthread_mutex_lock(&other.lock);
    other.line = line;
    pthread_cond_signal(&other.changed);
    while (other.line || !other.is_there) pthread_cond_wait(&other.changed, &other.lock);
    pthread_mutex_unlock(&other.lock);
}

static void* kernel_of(const char* name) {
    static struct {
        char name[128];
        void* kernel;
    } known[64];
    static int known_count;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < known_count && strcmp(known[i].name, name)) ++i;
    if (i == known_count) {
        int (*get)(void**, void*, const char*) = function("cuModuleGetFunction", "cuModuleGetFunction");
        snprintf(known[i].name, sizeof(known[i].name), "%s", name);
        get(&known[i].kernel, NULL, name);
        ++known_count;
    }
    pthread_mutex_unlock(&lock);
    return known[i].kernel;
}

static void* run_in_thread(void* line) {
    char own[256];
    snprintf(own, sizeof(own), "%s", (char*)line);
    set_current(contexts[0]);
    run(own);
    return NULL;
}

static void run(char* line) {
    char word[32] = "", text[128] = "";
    int used = 0;
    sscanf(line, "%31s %n", word, &used);
    char* rest = line + used;
    long times = 0;
    size_t bytes = 0;
    sscanf(rest, "%ld %zu", &times, &bytes);
    address at = 0;
    load();
    if (!strcmp(word, "alloc")) {
        for (long i = 0; i < times; ++i) one_place(bytes);
    } else if (!strcmp(word, "other_alloc")) {
        for (long i = 0; i < times; ++i) another_place(bytes);
    } else if (!strcmp(word, "host")) {
        int (*host)(void**, size_t, unsigned) = function("cuMemHostAlloc", "cuMemHostAlloc");
        for (long i = 0; i < times; ++i) {
            if (!host((void**)&at, bytes, 0)) remember(at, 'h');
        }
    } else if (!strcmp(word, "managed")) {
        int (*managed)(address*, size_t, unsigned) = function("cuMemAllocManaged", "cuMemAllocManaged");
        for (long i = 0; i < times; ++i) {
            if (!managed(&at, bytes, 1)) remember(at, 'd');
        }
    } else if (!strcmp(word, "pool")) {
        int (*pool)(address*, size_t, void*) = dlsym(library, "cuMemAllocAsync_ptsz");
        for (long i = 0; i < times; ++i) {
            if (!pool(&at, bytes, NULL)) remember(at, 'p');
        }
    } else if (!strcmp(word, "pitch")) {
        int (*pitched)(address*, size_t*, size_t, size_t, unsigned) = function("cuMemAllocPitch", "cuMemAllocPitch_v2");
        size_t pitch;
        for (long i = 0; i < times; ++i) {
            if (!pitched(&at, &pitch, bytes, 10, 4)) remember(at, 'd');
        }
    } else if (!strcmp(word, "physical")) {
        int (*create)(address*, size_t, const void*, uint64_t) = function("cuMemCreate", "cuMemCreate");
        int (*map)(address, size_t, size_t, address, uint64_t) = function("cuMemMap", "cuMemMap");
        int (*unmap)(address, size_t) = function("cuMemUnmap", "cuMemUnmap");
        // Pinned memory on GPU 1.
        int properties[8] = {1, 0, 1, 1};
        for (long i = 0; i < times; ++i) {
            if (create(&at, bytes, properties, 0)) continue;
            map(at + (1ULL << 44), bytes, 0, at, 0);
            unmap(at + (1ULL << 44), bytes);
            remember(at, 'v');
        }
    } else if (!strcmp(word, "free")) {
        for (long i = 0; i < times; ++i) free_newest();
    } else if (!strcmp(word, "churn")) {
        for (long i = 0; i < times; ++i) {
            if (!mem_alloc(&at, bytes)) mem_free(at);
        }
    } else if (!strcmp(word, "launch")) {
        sscanf(rest, "%127s %ld", text, &times);
        void* kernel = kernel_of(text);
        for (long i = 0; i < times; ++i) launch_kernel(kernel, 7, 2, 1, 64, 2, 1, 128, (void*)0x51, NULL, NULL);
    } else if (!strcmp(word, "times")) {
        void* kernel = kernel_of("timed");
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (long i = 0; i < times; ++i) launch_kernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
        clock_gettime(CLOCK_MONOTONIC, &end);
        printf("%.1f ns\n", ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) / (double)times);
    } else if (!strcmp(word, "htod")) {
        int (*copy)(address, const void*, size_t) = function("cuMemcpyHtoD", "cuMemcpyHtoD_v2");
        for (long i = 0; i < times; ++i) copy(count ? made[0].at : 0, text, bytes);
    } else if (!strcmp(word, "dtoh")) {
        int (*copy)(void*, address, size_t) = function("cuMemcpyDtoH", "cuMemcpyDtoH_v2");
        for (long i = 0; i < times; ++i) copy(text, count ? made[0].at : 0, bytes);
    } else if (!strcmp(word, "dtod")) {
        int (*copy)(address, address, size_t, void*) = function("cuMemcpyDtoDAsync", "cuMemcpyDtoDAsync_v2");
        for (long i = 0; i < times; ++i) copy(made[0].at, made[count - 1].at, bytes, NULL);
    } else if (!strcmp(word, "unified")) {
        int (*copy)(address, address, size_t, void*) = function("cuMemcpyAsync", "cuMemcpyAsync");
        for (long i = 0; i < times; ++i) copy(made[0].at, made[count - 1].at + 8, bytes, NULL);
    } else if (!strcmp(word, "peer")) {
        int (*copy)(address, void*, address, void*, size_t, void*) = function("cuMemcpyPeerAsync", "cuMemcpyPeerAsync");
        for (long i = 0; i < times; ++i) copy(1, contexts[1], 2, contexts[0], bytes, NULL);
    } else if (!strcmp(word, "copy2d")) {
        int (*copy)(const void*) = function("cuMemcpy2D", "cuMemcpy2D_v2");
        // CUDA_MEMCPY2D: from the host, to a GPU, `bytes` in each of 3 rows.
        uint64_t description[16] = {0, 0, 1, (uint64_t)text, 0, 0, 0, 0, 0, 2, 0, count ? made[0].at : 0, 0, 0, bytes, 3};
        for (long i = 0; i < times; ++i) copy(description);
    } else if (!strcmp(word, "set")) {
        int (*set)(address, unsigned, size_t) = function("cuMemsetD32", "cuMemsetD32_v2");
        for (long i = 0; i < times; ++i) set(0, 1, bytes / 4);
    } else if (!strcmp(word, "sync")) {
        int (*wait_for)(void*) = function("cuStreamSynchronize", "cuStreamSynchronize");
        for (long i = 0; i < times; ++i) wait_for(NULL);
    } else if (!strcmp(word, "fail")) {
        for (long i = 0; i < times; ++i) mem_alloc(&at, (size_t)1 << 60);
    } else if (!strcmp(word, "badfree")) {
        for (long i = 0; i < times; ++i) mem_free(0x123);
    } else if (!strcmp(word, "count")) {
        int (*count_devices)(int*) = function("cuDeviceGetCount", "cuDeviceGetCount");
        int devices;
        for (long i = 0; i < times; ++i) count_devices(&devices);
    } else if (!strcmp(word, "ask")) {
        int (*get_device)(int*) = function("cuCtxGetDevice", "cuCtxGetDevice");
        int device;
        for (long i = 0; i < times; ++i) get_device(&device);
    } else if (!strcmp(word, "push")) {
        int (*push)(void*) = function("cuCtxPushCurrent", "cuCtxPushCurrent_v2");
        push(contexts[times]);
    } else if (!strcmp(word, "pop")) {
        int (*pop)(void**) = function("cuCtxPopCurrent", "cuCtxPopCurrent_v2");
        void* popped;
        pop(&popped);
    } else if (!strcmp(word, "other")) {
        pthread_create(&other.thread, NULL, run_when_told, contexts[times]);
        tell_other(NULL);
    } else if (!strcmp(word, "in_other")) {
        tell_other(rest);
    } else if (!strcmp(word, "device")) {
        set_current(contexts[times]);
    } else if (!strcmp(word, "threads")) {
        char* command = strchr(rest, ' ') + 1;
        pthread_t threads[64];
        for (long i = 0; i < times; i += 64) {
            long at_once = times - i < 64 ? times - i : 64;
            for (long j = 0; j < at_once; ++j) pthread_create(&threads[j], NULL, run_in_thread, command);
            for (long j = 0; j < at_once; ++j) pthread_join(threads[j], NULL);
        }
    } else if (!strcmp(word, "fork")) {
        char* command = strchr(rest, ' ') + 1;
        for (long i = 0; i < times; ++i) {
            if (!fork()) {
                run(command);
                _exit(0);
            }
        }
        while (wait(NULL) > 0) {
        }
    } else if (!strcmp(word, "exit")) {
        exit((int)times);
    } else {
        fprintf(stderr, "unknown command %s\n", word);
        exit(2);
    }
}

int main(void) {
    char line[256];
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = 0;
        run(line);
        printf("ok\n");
        fflush(stdout);
    }
    return 0;
}
