#include "probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "names.h"
#include "watch.skel.h"

// Since Linux 6.6, one link has all functions of a file: it is made and ends in milliseconds, where a link a function takes a tenth of a
// second each. Headers and libbpf of Debian 12 do not know it.
#define TOGETHER 48   // BPF_TRACE_UPROBE_MULTI
#define AT_THE_END 1  // BPF_F_UPROBE_MULTI_RETURN
struct link_together {
    __u32 program, target, type, flags;
    __u64 path, offsets, counters, numbers;
    __u32 count, options, pid, gap;
};

static int together_is_used = 0;

// Of functions that are probed together the files of links, else the links, in the order in which they were made.
struct probes {
    int* files;
    struct bpf_link** links;
    int file_count, link_count;
};
static struct probes groups[GROUPS];

int probes_together(void) {
    struct utsname system;
    int major = 0, minor = 0;
    return !uname(&system) && sscanf(system.release, "%d.%d", &major, &minor) == 2 && (major > 6 || (major == 6 && minor >= 6));
}

void prepare_probes(struct watch_bpf* program, int together) {
    together_is_used = together;
    if (!together) return;
    bpf_program__set_expected_attach_type(program->progs.enter, (enum bpf_attach_type)TOGETHER);
    bpf_program__set_expected_attach_type(program->progs.leave, (enum bpf_attach_type)TOGETHER);
}

static int probe_together(struct probes* made, const struct bpf_program* part, const char* path, pid_t pid, const __u64* offsets,
                          const __u64* numbers, int count, int at_end) {
    struct link_together link = {.program = (__u32)bpf_program__fd(part),
                                 .type = TOGETHER,
                                 .path = (__u64)path,
                                 .offsets = (__u64)offsets,
                                 .numbers = (__u64)numbers,
                                 .count = (__u32)count,
                                 .options = at_end ? AT_THE_END : 0,
                                 .pid = pid > 0 ? (__u32)pid : 0};
    int file = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &link, sizeof(link));
    if (file < 0) return -1;
    int* more = realloc(made->files, sizeof(*more) * (size_t)(made->file_count + 1));
    if (!more) return close(file), -1;
    made->files = more;
    made->files[made->file_count++] = file;
    return 0;
}

static int probe_one(struct probes* made, const struct bpf_program* part, const char* path, pid_t pid, __u64 offset, __u64 number,
                     int at_end) {
    LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = at_end, .bpf_cookie = number);
    struct bpf_link** more = realloc(made->links, sizeof(*more) * (size_t)(made->link_count + 1));
    if (!more) return -1;
    made->links = more;
    more[made->link_count] = bpf_program__attach_uprobe_opts(part, pid, path, offset, &options);
    return more[made->link_count] ? (++made->link_count, 0) : -1;
}

int probe(struct watch_bpf* program, enum group group, const char* path, pid_t pid, const __u64* offsets, const __u64* numbers, int count) {
    struct probes* made = &groups[group];
    // The end first: a beginning without an end would be remembered for ever.
    for (int at_end = 1; at_end >= 0; --at_end) {
        const struct bpf_program* part = at_end ? program->progs.leave : program->progs.enter;
        if (together_is_used) {
            if (probe_together(made, part, path, pid, offsets, numbers, count, at_end)) return -1;
            continue;
        }
        for (int i = 0; i < count; ++i) {
            if (probe_one(made, part, path, pid, offsets[i], numbers[i], at_end)) return -1;
        }
    }
    return 0;
}

// Calls of questions whose end is not seen any more. Those of other functions end with the program.
static void forget_flights(struct watch_bpf* program) {
    int flights = bpf_map__fd(program->maps.flights);
    struct flight_of key, next;
    for (int there = !bpf_map_get_next_key(flights, NULL, &next); there;) {
        key = next;
        there = !bpf_map_get_next_key(flights, &key, &next);
        if (is_question((int)key.function)) bpf_map_delete_elem(flights, &key);
    }
}

void detach(struct watch_bpf* program, enum group group) {
    struct probes* made = &groups[group];
    // The ends, which were made first, are the last to go.
    while (made->file_count) close(made->files[--made->file_count]);
    while (made->link_count) bpf_link__destroy(made->links[--made->link_count]);
    if (group == QUESTIONS) forget_flights(program);
}
