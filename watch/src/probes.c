#include "probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

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

static int* files = NULL;
static struct bpf_link** links = NULL;
static int file_count = 0, link_count = 0;

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

static int probe_together(const struct bpf_program* part, const char* path, pid_t pid, const __u64* offsets, const __u64* numbers,
                          int count, int at_end) {
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
    int* more = realloc(files, sizeof(*files) * (size_t)(file_count + 1));
    if (!more) return -1;
    files = more;
    files[file_count++] = file;
    return 0;
}

static int probe_one(const struct bpf_program* part, const char* path, pid_t pid, __u64 offset, __u64 number, int at_end) {
    LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = at_end, .bpf_cookie = number);
    struct bpf_link** more = realloc(links, sizeof(*links) * (size_t)(link_count + 1));
    if (!more) return -1;
    links = more;
    links[link_count] = bpf_program__attach_uprobe_opts(part, pid, path, offset, &options);
    return links[link_count] ? (++link_count, 0) : -1;
}

int probe(struct watch_bpf* program, const char* path, pid_t pid, const __u64* offsets, const __u64* numbers, int count) {
    // The end first: a beginning without an end would be remembered for ever.
    for (int at_end = 1; at_end >= 0; --at_end) {
        const struct bpf_program* part = at_end ? program->progs.leave : program->progs.enter;
        if (together_is_used) {
            if (probe_together(part, path, pid, offsets, numbers, count, at_end)) return -1;
            continue;
        }
        for (int i = 0; i < count; ++i) {
            if (probe_one(part, path, pid, offsets[i], numbers[i], at_end)) return -1;
        }
    }
    return 0;
}

void detach_all(void) {
    for (int i = 0; i < file_count; ++i) close(files[i]);
    for (int i = 0; i < link_count; ++i) bpf_link__destroy(links[i]);
    free(files);
    free(links);
    files = NULL;
    links = NULL;
    file_count = link_count = 0;
}
