#include "tables.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "watch.skel.h"

// Where the pid is in the key of each table, and the thread, if its rows are of threads.
struct table {
    struct bpf_map* map;
    enum frame frame;
    size_t pid_at, tid_at;
};
#define TABLES 6
#define NO_THREAD ((size_t)-1)

// Rows of threads that have ended, added up as those of thread 0: programs may start ever new ones.
static struct buffer ended[TABLES];

static void list_tables(struct watch_bpf* program, struct table* list) {
    const struct table all[TABLES] = {
        {program->maps.all_sums, FRAME_SUMS, offsetof(struct sums_of, pid), offsetof(struct sums_of, tid)},
        {program->maps.all_times, FRAME_TIMES, offsetof(struct times_of, pid), offsetof(struct times_of, tid)},
        {program->maps.all_errors, FRAME_ERRORS, offsetof(struct errors_of, pid), offsetof(struct errors_of, tid)},
        {program->maps.all_memory, FRAME_MEMORY, offsetof(struct memory_of, pid), NO_THREAD},
        {program->maps.all_live, FRAME_LIVE, offsetof(struct live_of, pid), NO_THREAD},
        {program->maps.all_names, FRAME_NAMES, offsetof(struct name_of, pid), NO_THREAD},
    };
    memcpy(list, all, sizeof(all));
}

static __u32 owner_of(const struct table* table, const char* row) {
    __u32 owner;
    memcpy(&owner, row + table->pid_at, sizeof(owner));
    return owner;
}

// Rows of a table, of one process or of all (0).
static void collect(const struct table* table, int pid, struct buffer* rows, int keys_only) {
    int file = bpf_map__fd(table->map);
    size_t key_size = bpf_map__key_size(table->map), value_size = bpf_map__value_size(table->map);
    char key[64], *value = malloc(value_size);
    for (void* before = NULL; value && !bpf_map_get_next_key(file, before, key); before = key) {
        if (pid && owner_of(table, key) != (__u32)pid) continue;
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

static void add_row(const struct table* table, char* to, const char* more, size_t bytes) {
    if (table->frame == FRAME_SUMS) {
        struct sums sum, other;
        memcpy(&sum, to, sizeof(sum));
        memcpy(&other, more, sizeof(other));
        sum.calls += other.calls;
        sum.errors += other.errors;
        sum.total += other.total;
        sum.bytes += other.bytes;
        if (other.least < sum.least) sum.least = other.least;
        if (other.most > sum.most) sum.most = other.most;
        memcpy(to, &sum, sizeof(sum));
        return;
    }
    for (size_t at = 0; at < bytes; at += sizeof(__u64)) {
        __u64 sum, other;
        memcpy(&sum, to + at, sizeof(sum));
        memcpy(&other, more + at, sizeof(other));
        sum += other;
        memcpy(to + at, &sum, sizeof(sum));
    }
}

static int has_ended(__u32 pid, __u32 tid) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/task/%u", pid, tid);
    return access(path, F_OK) != 0;
}

// Takes the rows of threads that have ended, of those that were collected, out of a table.
static void retire(const struct table* table, const char* rows, size_t bytes, struct buffer* past) {
    int file = bpf_map__fd(table->map);
    size_t key_size = bpf_map__key_size(table->map), value_size = bpf_map__value_size(table->map), size = key_size + value_size;
    char* row = malloc(size);
    for (size_t at = 0; row && at < bytes; at += size) {
        __u32 tid;
        memcpy(&tid, rows + at + table->tid_at, sizeof(tid));
        if (!has_ended(owner_of(table, rows + at), tid)) continue;
        memcpy(row, rows + at, key_size);
        if (bpf_map_lookup_and_delete_elem(file, row, row + key_size)) continue;
        memset(row + table->tid_at, 0, sizeof(tid));
        size_t known = 0;
        while (known < past->bytes && memcmp(past->data + known, row, key_size)) known += size;
        if (known < past->bytes) {
            add_row(table, past->data + known + key_size, row + key_size, value_size);
        } else {
            append(past, row, size);
        }
    }
    free(row);
}

static void append_ended(const struct table* table, const struct buffer* past, int pid, struct buffer* rows) {
    size_t size = bpf_map__key_size(table->map) + bpf_map__value_size(table->map);
    for (size_t at = 0; at < past->bytes; at += size) {
        if (!pid || owner_of(table, past->data + at) == (__u32)pid) append(rows, past->data + at, size);
    }
}

void put_tables(struct watch_bpf* program, int pid) {
    struct table list[TABLES];
    list_tables(program, list);
    struct buffer rows = {0};
    for (int i = 0; i < TABLES; ++i) {
        // Names have an end of their own, and what is there now is only of interest where there is no more to come.
        if (list[i].frame == FRAME_NAMES || (list[i].frame == FRAME_LIVE && !pid)) continue;
        collect(&list[i], pid, &rows, 0);
        size_t there = rows.bytes, size = bpf_map__key_size(list[i].map) + bpf_map__value_size(list[i].map);
        append_ended(&list[i], &ended[i], pid, &rows);
        put_buffer(list[i].frame, &rows);
        // Half of the table is room enough until the next time.
        if (list[i].tid_at != NO_THREAD && !pid && there / size > bpf_map__max_entries(list[i].map) / 2) {
            retire(&list[i], rows.data, there, &ended[i]);
        }
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

static void forget_ended(const struct table* table, int pid, struct buffer* past) {
    size_t size = bpf_map__key_size(table->map) + bpf_map__value_size(table->map), kept = 0;
    for (size_t at = 0; at < past->bytes; at += size) {
        if (owner_of(table, past->data + at) == (__u32)pid) continue;
        memmove(past->data + kept, past->data + at, size);
        kept += size;
    }
    past->bytes = kept;
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
        forget_ended(&list[i], pid, &ended[i]);
    }
    free(keys.data);
}
