#include "mappings.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// Pages of a CPU's ring, besides the one that says how far it is filled.
#define PAGES 16

struct ring {
    struct perf_event_mmap_page* head;
    char* data;
};
static struct ring* rings = NULL;
static int ring_count = 0;

static int add_ring(int cpu) {
    struct perf_event_attr what = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof(what),
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .mmap = 1,
                                   .mmap2 = 1,
                                   .watermark = 1,
                                   .wakeup_watermark = UINT32_MAX};
    int file = (int)syscall(__NR_perf_event_open, &what, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (file < 0) return -1;
    long page = sysconf(_SC_PAGESIZE);
    void* memory = mmap(NULL, (size_t)((PAGES + 1) * page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    struct ring* more = memory == MAP_FAILED ? NULL : realloc(rings, sizeof(*rings) * (size_t)(ring_count + 1));
    if (!more) {
        close(file);
        return -1;
    }
    rings = more;
    rings[ring_count++] = (struct ring){memory, (char*)memory + page};
    return 0;
}

int begin_mappings(void) {
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < cpus; ++cpu) {
        // Some may be offline.
        add_ring(cpu);
    }
    return ring_count ? 0 : -1;
}

static void copy_from(const struct ring* ring, uint64_t at, void* to, size_t bytes, size_t size) {
    for (size_t i = 0; i < bytes; ++i) ((char*)to)[i] = ring->data[(at + i) % size];
}

// PERF_RECORD_MMAP2.
struct mapping {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t address, bytes, offset;
    uint32_t major, minor;
    uint64_t inode, generation;
    uint32_t protection, flags;
    char path[4096];
};

int look_at_mappings(const char* library, void (*each)(pid_t)) {
    size_t size = (size_t)(PAGES * sysconf(_SC_PAGESIZE));
    int missed = 0;
    for (int i = 0; i < ring_count; ++i) {
        struct ring* ring = &rings[i];
        uint64_t end = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE), at = ring->head->data_tail;
        while (at < end) {
            static struct mapping one;
            copy_from(ring, at, &one.header, sizeof(one.header), size);
            if (one.header.type == PERF_RECORD_LOST) missed = 1;
            if (one.header.type == PERF_RECORD_MMAP2 && one.header.size < sizeof(one)) {
                copy_from(ring, at, &one, one.header.size, size);
                const char* name = strrchr(one.path, '/');
                if (name && !strncmp(name + 1, library, strlen(library))) each((pid_t)one.pid);
            }
            at += one.header.size;
        }
        __atomic_store_n(&ring->head->data_tail, end, __ATOMIC_RELEASE);
    }
    return missed;
}
