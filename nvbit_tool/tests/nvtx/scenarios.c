// A program with phases, of which the first argument names one kind. The launches are the recorder's: without it there are none.
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "snoopie.h"

extern void fake_context(void) __attribute__((weak));
extern void fake_launch(unsigned) __attribute__((weak));
extern void fake_profiler(int) __attribute__((weak));

static void launch(unsigned bytes) {
    if (fake_launch) fake_launch(bytes);
}

static nvtxEventAttributes_t event(void) {
    nvtxEventAttributes_t attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    return attributes;
}

static nvtxEventAttributes_t named(const char* name) {
    nvtxEventAttributes_t attributes = event();
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    return attributes;
}

static void* other_thread(void* started) {
    launch(400);
    nvtxRangePushA("other");
    launch(500);
    nvtxRangePop();
    nvtxRangeEnd(*(nvtxRangeId_t*)started);
    launch(600);
    return NULL;
}

static void ranges(void) {
    nvtxRangePushA("before the context");
    nvtxRangePop();
    nvtxRangePushA("step");
    fake_context();
    launch(1);
    nvtxRangePushW(L"halö");
    launch(2);
    const nvtxEventAttributes_t inner = named("inner");
    nvtxRangePushEx(&inner);
    launch(4);
    printf("%d\n", nvtxRangePop());
    printf("%d\n", nvtxRangePop());
    printf("%d\n", nvtxRangePop());
    printf("%d\n", nvtxRangePop() < 0);
    launch(8);
}

static void domains(void) {
    fake_context();
    const nvtxDomainHandle_t mine = nvtxDomainCreateA("mine");
    const nvtxDomainHandle_t wide = nvtxDomainCreateW(L"wide");
    nvtxEventAttributes_t attributes = event();
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = nvtxDomainRegisterStringA(mine, "registered");
    nvtxDomainRangePushEx(mine, &attributes);
    const nvtxEventAttributes_t step = named("step");
    nvtxDomainRangePushEx(wide, &step);
    nvtxRangePushA("step");
    launch(1);
    nvtxDomainRangePop(mine);  // not the innermost of the thread, but of its domain
    launch(2);
    nvtxDomainRangePop(wide);
    launch(4);
    nvtxRangePop();
    nvtxMarkA("here");
    nvtxDomainMarkEx(mine, &step);
    nvtxDomainDestroy(mine);
}

static void started(void) {
    fake_context();
    nvtxRangeId_t number = nvtxRangeStartA("started");
    launch(100);
    const nvtxRangeId_t open = nvtxRangeStartW(L"open to the end");
    (void)open;
    pthread_t thread;
    pthread_create(&thread, NULL, other_thread, &number);
    pthread_join(thread, NULL);
    nvtxRangeEnd(4711);  // is not there
    launch(700);
}

// Twice a range of the name, then launches by the profiler's and the library's switches.
static void windows(void) {
    fake_context();
    for (int step = 0; step < 2; ++step) {
        launch(1);
        nvtxRangePushA("solve");
        launch(2);
        launch(2);
        nvtxRangePop();
    }
    fake_profiler(1);
    launch(100);
    snoopie_record(0);
    launch(1000);
    snoopie_record(1);
    launch(10000);
    fake_profiler(0);
    launch(100000);
}

static void regions(void) {
    snoopie_begin("outer");
    if (fake_context) fake_context();
    snoopie_begin("inner");
    launch(3);
    snoopie_end();
    launch(5);
    snoopie_end();
    snoopie_end();
    launch(7);
}

static void many(void) {
    fake_context();
    char name[600];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    nvtxRangePushA(name);
    nvtxRangePop();
    for (int i = 0; i < 70000; ++i) {
        snprintf(name, sizeof name, "step %d", i);
        nvtxRangePushA(name);
        nvtxRangePop();
    }
    for (int i = 0; i < 3000; ++i) nvtxRangePushA("deep");
    launch(1);
    for (int i = 0; i < 3000; ++i) nvtxRangePop();
    launch(2);
}

static void forks(void) {
    fake_context();
    nvtxRangePushA("parent");
    if (fork() == 0) {
        nvtxRangePop();
        nvtxRangePushA("child");
        nvtxRangePop();
        exit(0);
    }
    int status = 0;
    wait(&status);
    launch(1);
    nvtxRangePop();
    exit(status);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// The time of a range, in ns.
static void cost(void) {
    fake_context();
    const double begin = seconds();
    for (int i = 0; i < 100000; ++i) {
        nvtxRangePushA("a range");
        nvtxRangePop();
    }
    printf("%.0f\n", (seconds() - begin) * 1e9 / 100000);
}

int main(int count, char** arguments) {
    static const struct {
        const char* name;
        void (*run)(void);
    } kinds[] = {{"ranges", ranges},   {"domains", domains}, {"started", started}, {"windows", windows},
                 {"regions", regions}, {"many", many},       {"forks", forks},     {"cost", cost}};
    for (size_t i = 0; count > 1 && i < sizeof kinds / sizeof *kinds; ++i)
        if (strcmp(arguments[1], kinds[i].name) == 0) {
            kinds[i].run();
            return 0;
        }
    return 2;
}
