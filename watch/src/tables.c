#include "tables.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "watch.skel.h"

// Where the pid is in the key of each table.
struct table {
    struct bpf_map* map;
    enum frame frame;
    size_t pid_at;
};
#define TABLES 6

static void list_tables(struct watch_bpf* program, struct table* list) {
    const struct table all[TABLES] = {
        {program->maps.all_sums, FRAME_SUMS, offsetof(struct sums_of, pid)},
        {program->maps.all_times, FRAME_TIMES, offsetof(struct times_of, pid)},
        {program->maps.all_errors, FRAME_ERRORS, offsetof(struct errors_of, pid)},
        {program->maps.all_memory, FRAME_MEMORY, offsetof(struct memory_of, pid)},
        {program->maps.all_live, FRAME_LIVE, offsetof(struct live_of, pid)},
        {program->maps.all_names, FRAME_NAMES, offsetof(struct name_of, pid)},
    };
    memcpy(list, all, sizeof(all));
}

// Rows of a table, of one process or of all (0).
static void collect(const struct table* table, int pid, struct buffer* rows, int keys_only) {
    int file = bpf_map__fd(table->map);
    size_t key_size = bpf_map__key_size(table->map), value_size = bpf_map__value_size(table->map);
    char key[64], *value = malloc(value_size);
    for (void* before = NULL; value && !bpf_map_get_next_key(file, before, key); before = key) {
        __u32 owner;
        memcpy(&owner, key + table->pid_at, sizeof(owner));
        if (pid && owner != (__u32)pid) continue;
        // Gone since: freed.
        if (!keys_only && bpf_map_lookup_elem(file, key, value)) continue;
        append(rows, key, key_size);
        if (!keys_only) append(rows, value, value_size);
    }
    free(value);
}

static void put_losses(struct watch_bpf* program) {
    int cpus = libbpf_num_possible_cpus();
    __u64 lost[LOSSES] = {0}, *each = calloc((size_t)(cpus > 0 ? cpus : 1), sizeof(*each));
    for (__u32 what = 0; each && what < LOSSES; ++what) {
        if (bpf_map_lookup_elem(bpf_map__fd(program->maps.losses), &what, each)) continue;
        for (int cpu = 0; cpu < cpus; ++cpu) lost[what] += each[cpu];
    }
    free(each);
    put_frame(FRAME_LOST, lost, sizeof(lost));
}

void put_tables(struct watch_bpf* program, int pid) {
    struct table list[TABLES];
    list_tables(program, list);
    struct buffer rows = {0};
    for (int i = 0; i < TABLES; ++i) {
        // Names have an end of their own, and what is there now is only of interest where there is no more to come.
        if (list[i].frame == FRAME_NAMES || (list[i].frame == FRAME_LIVE && !pid)) continue;
        collect(&list[i], pid, &rows, 0);
        put_buffer(list[i].frame, &rows);
    }
    free(rows.data);
    put_losses(program);
}

void put_live(struct watch_bpf* program) {
    struct table list[TABLES];
    list_tables(program, list);
    struct buffer rows = {0};
    for (int i = 0; i < TABLES; ++i) {
        if (list[i].frame == FRAME_LIVE) collect(&list[i], 0, &rows, 0);
    }
    put_buffer(FRAME_LIVE, &rows);
    free(rows.data);
}

void put_names(struct watch_bpf* program) {
    static __u64 put = 0;
    __u32 zero = 0;
    __u64 made = 0;
    if (bpf_map_lookup_elem(bpf_map__fd(program->maps.names_made), &zero, &made) || made == put) return;
    put = made;
    struct table list[TABLES];
    list_tables(program, list);
    struct buffer rows = {0};
    for (int i = 0; i < TABLES; ++i) {
        if (list[i].frame == FRAME_NAMES) collect(&list[i], 0, &rows, 0);
    }
    put_buffer(FRAME_NAMES, &rows);
    free(rows.data);
}

void put_stack(struct watch_bpf* program, int number) {
    static char put[STACKS];
    if (number < 0 || number >= STACKS || put[number]) return;
    __u32 key = (__u32)number;
    __u64 content[1 + STACK_DEPTH] = {key};
    if (bpf_map_lookup_elem(bpf_map__fd(program->maps.stacks), &key, content + 1)) return;
    put[number] = 1;
    size_t depth = 0;
    while (depth < STACK_DEPTH && content[1 + depth]) ++depth;
    put_frame(FRAME_STACK, content, sizeof(*content) * (1 + depth));
}

void forget(struct watch_bpf* program, int pid) {
    struct table list[TABLES];
    list_tables(program, list);
    struct buffer keys = {0};
    for (int i = 0; i < TABLES; ++i) {
        size_t size = bpf_map__key_size(list[i].map);
        collect(&list[i], pid, &keys, 1);
        for (size_t at = 0; at < keys.bytes; at += size) bpf_map_delete_elem(bpf_map__fd(list[i].map), keys.data + at);
        keys.bytes = 0;
    }
    free(keys.data);
}
