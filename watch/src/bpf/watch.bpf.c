// Runs at the first and after the last instruction of each driver function that is followed.
//
// The first remembers the call, the second adds it to sums, which are exact, and tells it to the loader, which can fail where the loader is
// too slow.

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel.h"
#include "maps.h"
#include "registers.h"

#include "contexts.h"
#include "copies.h"
#include "names.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline int watched(void) { return !cgroup || bpf_get_current_ancestor_cgroup_id((int)cgroup_level) == cgroup; }

// Functions that only tell a program where it is. It may ask at every call.
static __always_inline int is_question(__u32 kind) { return kind == CONTEXT_GOT || kind == DEVICE_GOT; }

static __always_inline __u64 read_word(__u64 address) {
    __u64 value = 0;
    bpf_probe_read_user(&value, sizeof(value), (const void*)address);
    return value;
}

// --- Before the call ---

static __always_inline void enter_free(struct flight* flight, __u32 pid, const volatile struct function* function) {
    struct live_of key = {.address = flight->address, .pid = pid, .handle = function->object == PHYSICAL};
    struct live* live = bpf_map_lookup_elem(&all_live, &key);
    if (!live) return;
    flight->live = *live;
    flight->was_live = 1;
    // Before the driver can give the address to another thread.
    bpf_map_delete_elem(&all_live, &key);
}

static __always_inline void enter_launch(struct flight* flight, const registers* at, __u64* args) {
    late_arguments(at, args);
    for (int i = 0; i < 3; ++i) {
        flight->grid[i] = args[1 + i];
        flight->block[i] = args[4 + i];
    }
    flight->shared_memory = args[7];
    flight->stream = args[8];
}

static __always_inline void enter_launch_ex(struct flight* flight, __u64 config) {
    struct {
        __u32 grid[3], block[3], shared_memory, gap;
        __u64 stream;
    } of = {};
    bpf_probe_read_user(&of, sizeof(of), (const void*)config);
    for (int i = 0; i < 3; ++i) {
        flight->grid[i] = of.grid[i];
        flight->block[i] = of.block[i];
    }
    flight->shared_memory = of.shared_memory;
    flight->stream = of.stream;
}

// CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR.
static __always_inline __u64 bytes_of_array(__u64 description, int solid) {
    __u64 of[4] = {};
    bpf_probe_read_user(of, sizeof(of), (const void*)description);
    __u64 format = solid ? of[3] : of[2];
    __u64 width = of[0] ? of[0] : 1, height = of[1] ? of[1] : 1, depth = solid && of[2] ? of[2] : 1;
    // CU_AD_FORMAT_UNSIGNED_INT8, … INT16, INT32, SIGNED_…, HALF, FLOAT.
    __u32 kind = (__u32)format, size = kind == 0x01 || kind == 0x08 ? 1 : kind == 0x02 || kind == 0x09 || kind == 0x10 ? 2 : 4;
    return width * height * depth * size * (format >> 32);
}

SEC("uprobe")
int enter(registers* at) {
    __u64 id = bpf_get_current_pid_tgid(), number = bpf_get_attach_cookie(at);
    if (number >= FUNCTIONS) return 0;
    const volatile struct function* function = &functions[number];
    // Programs that are not meant pay for the probe too.
    if (is_question(function->kind)) __sync_fetch_and_add(&questions, 1);
    if (!watched()) return 0;
    struct flight flight = {.stack = -1, .gpu = NOT_KNOWN, .destination = NOT_KNOWN, .source = NOT_KNOWN};
    __u64 args[ARGUMENTS] = {};
    early_arguments(at, args);
    // Numbers of arguments that there are not stand for 0.
    __u64 a = function->a < EARLY_ARGUMENTS ? args[function->a & 7] : 0;
    __u64 b = function->b < EARLY_ARGUMENTS ? args[function->b & 7] : 0;
    __u64 c = function->c < EARLY_ARGUMENTS ? args[function->c & 7] : 0;
    __u64 d = function->d < EARLY_ARGUMENTS ? args[function->d & 7] : 0;
    int with_stack = 0;
    switch (function->kind) {
        case ALLOCATE:
            flight.out = a;
            flight.bytes = b;
            with_stack = 1;
            break;
        case PITCHED:
            flight.out = a;
            flight.other = b;
            flight.bytes = c;
            with_stack = 1;
            break;
        case ARRAY:
            flight.out = a;
            // c says which description it is.
            flight.bytes = bytes_of_array(b, function->c);
            with_stack = 1;
            break;
        case CREATE:
            flight.out = a;
            flight.bytes = b;
            // Of CUmemAllocationProp, the location: its type, 1 = a GPU, and its number.
            flight.other = read_word(c + 8);
            flight.gpu = (__u32)flight.other == 1 ? (__s16)(flight.other >> 32) : ON_HOST;
            with_stack = 1;
            break;
        case MAP: {
            struct live_of key = {.address = c, .pid = id >> 32, .handle = 1};
            struct live* physical = bpf_map_lookup_elem(&all_live, &key);
            if (physical) flight.gpu = physical->gpu;
        }
        // fallthrough
        case REGISTER:
            flight.address = a;
            flight.bytes = b;
            with_stack = 1;
            break;
        case FREE:
            flight.address = a;
            flight.bytes = b;
            enter_free(&flight, id >> 32, function);
            break;
        case LAUNCH:
            flight.address = a;
            if (tell_calls) enter_launch(&flight, at, args);
            with_stack = every_stack;
            break;
        case LAUNCH_EX:
            flight.address = b;
            if (tell_calls) enter_launch_ex(&flight, a);
            with_stack = every_stack;
            break;
        case GRAPH:
            flight.stream = b;
            break;
        case COPY_PEER:
            flight.destination = gpu_of_context(id >> 32, args[(function->a + 1) & 7]);
            flight.source = gpu_of_context(id >> 32, args[(function->b + 1) & 7]);
            // fallthrough
        case COPY:
            flight.address = a;
            flight.other = b;
            flight.bytes = c;
            flight.stream = d;
            flight.direction = function->object;
            with_stack = every_stack;
            break;
        case COPY_2D:
            describe_2d(&flight, a, function->object);
            flight.stream = b;
            with_stack = every_stack;
            break;
        case COPY_3D:
            describe_3d(&flight, a, function->object);
            flight.stream = b;
            with_stack = every_stack;
            break;
        case SET:
            flight.bytes = b * function->object * (function->c == NO_ARGUMENT ? 1 : c);
            break;
        case ADDRESS:
            flight.out = a;
            flight.other = b;
            break;
        default:
            flight.address = a;
            flight.other = b;
    }
    if (with_stack) {
        // Before the first instruction the frame pointer is the caller's: the kernel may leave out the frame in between.
        flight.caller = caller_of(at);
        flight.stack = bpf_get_stackid(at, &stacks, BPF_F_USER_STACK);
        if (flight.stack < 0) {
            flight.stack = -1;
            count_lost(LOST_STACKS);
        }
    }
    flight.start = bpf_ktime_get_ns();
    struct flight_of key = {.thread = id, .function = number};
    if (bpf_map_update_elem(&flights, &key, &flight, BPF_ANY)) count_lost(LOST_CALLS);
    return 0;
}

// --- After the call ---

// Its first call: what is known of it elsewhere is to be read now.
static __always_inline void process_is_there(__u32 pid) {
    if (bpf_map_lookup_elem(&processes, &pid)) return;
    __u8 one = 1;
    if (!bpf_map_update_elem(&processes, &pid, &one, BPF_NOEXIST)) tell_news(LOADED, pid);
}

static __always_inline void add_memory(__u32 pid, __s16 gpu, __s16 object, __u64 bytes, int freed) {
    struct memory_of key = {.pid = pid, .gpu = gpu, .object = object};
    struct memory* memory = bpf_map_lookup_elem(&all_memory, &key);
    if (!memory) {
        struct memory none = {};
        bpf_map_update_elem(&all_memory, &key, &none, BPF_NOEXIST);
        memory = bpf_map_lookup_elem(&all_memory, &key);
        if (!memory) {
            count_lost(LOST_SUMS);
            return;
        }
    }
    __sync_fetch_and_add(freed ? &memory->freed : &memory->allocated, bytes);
    __sync_fetch_and_add(freed ? &memory->frees : &memory->allocations, 1);
}

static __always_inline void add_sums(struct sums_of* key, __u64 spent, __u64 bytes, int failed) {
    struct sums* sums = bpf_map_lookup_elem(&all_sums, key);
    if (!sums) {
        struct sums none = {.least = ~0ULL};
        bpf_map_update_elem(&all_sums, key, &none, BPF_NOEXIST);
        sums = bpf_map_lookup_elem(&all_sums, key);
        if (!sums) {
            count_lost(LOST_SUMS);
            return;
        }
    }
    sums->calls += 1;
    sums->errors += failed;
    sums->total += spent;
    sums->bytes += bytes;
    if (spent < sums->least) sums->least = spent;
    if (spent > sums->most) sums->most = spent;
}

static __always_inline __u32 log2_of(__u64 value) {
    __u32 log = 0;
    for (int step = 32; step; step /= 2) {
        if (value >> step) {
            value >>= step;
            log += step;
        }
    }
    return log < DURATIONS ? log : DURATIONS - 1;
}

static const struct times no_times = {};

static __always_inline void add_time(const struct sums_of* of, __u64 spent) {
    struct times_of key = {.pid = of->pid, .tid = of->tid, .function = of->function, .gpu = of->gpu};
    struct times* times = bpf_map_lookup_elem(&all_times, &key);
    if (!times) {
        bpf_map_update_elem(&all_times, &key, &no_times, BPF_NOEXIST);
        times = bpf_map_lookup_elem(&all_times, &key);
        if (!times) {
            count_lost(LOST_SUMS);
            return;
        }
    }
    __u32 log = log2_of(spent);
    if (log < DURATIONS) times->calls[log] += 1;
}

static __always_inline void add_error(const struct sums_of* of, __s32 code) {
    struct errors_of key = {.pid = of->pid, .tid = of->tid, .function = of->function, .gpu = of->gpu, .code = code};
    __u64* errors = bpf_map_lookup_elem(&all_errors, &key);
    if (errors) {
        *errors += 1;
        return;
    }
    __u64 one = 1;
    if (bpf_map_update_elem(&all_errors, &key, &one, BPF_NOEXIST)) count_lost(LOST_SUMS);
}

// Memory that is there from now on.
static __always_inline void add_live(struct flight* flight, const struct function* function, const struct sums_of* of, __u64 context,
                                     __u64 now) {
    struct live_of key = {.address = flight->address, .pid = of->pid, .handle = function->kind == CREATE};
    struct live live = {.bytes = flight->bytes,
                        .time = now,
                        .caller = flight->caller,
                        .context = context,
                        .tid = of->tid,
                        .stack = flight->stack,
                        .gpu = flight->gpu,
                        .object = function->object,
                        .function = of->function};
    if (bpf_map_update_elem(&all_live, &key, &live, BPF_ANY)) count_lost(LOST_OBJECTS);
    add_memory(of->pid, flight->gpu, function->object, flight->bytes, 0);
}

static __always_inline void tell(const struct flight* flight, const struct function* function, const struct sums_of* of, __u64 context,
                                 __u64 now, __s32 code) {
    struct event* event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
    if (!event) {
        count_lost(LOST_EVENTS);
        return;
    }
    event->start = flight->start;
    event->end = now;
    event->pid = of->pid;
    event->tid = of->tid;
    event->function = of->function;
    event->kind = function->kind;
    event->direction = flight->direction;
    event->code = code;
    event->gpu = flight->gpu;
    event->destination = flight->destination;
    event->source = flight->source;
    event->object = function->object;
    event->stack = flight->stack;
    event->shared_memory = flight->shared_memory;
    event->address = flight->address;
    event->other = flight->other;
    event->bytes = flight->bytes;
    event->stream = flight->stream;
    event->context = context;
    event->caller = flight->caller;
    for (int i = 0; i < 3; ++i) {
        event->grid[i] = flight->grid[i];
        event->block[i] = flight->block[i];
    }
    // The loader comes by itself: to wake it would cost the program more than all the rest.
    bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

SEC("uretprobe")
int leave(registers* at) {
    __u64 id = bpf_get_current_pid_tgid(), number = bpf_get_attach_cookie(at), now = bpf_ktime_get_ns();
    if (number >= FUNCTIONS) return 0;
    struct flight_of key = {.thread = id, .function = number};
    struct flight* flight = bpf_map_lookup_elem(&flights, &key);
    if (!flight) return 0;
    struct function function;
    __builtin_memcpy(&function, (const void*)&functions[number], sizeof(function));
    __u32 pid = id >> 32;
    __s32 code = result_of(at);
    __u64 context = 0, bytes = 0, kernel = 0;
    __u32 direction = NONE, told = 0;
    __s32 gpu = gpu_of_thread(id, &context);
    struct sums_of of = {.pid = pid, .tid = (__u32)id, .function = number, .gpu = gpu};
    switch (function.kind) {
        case PITCHED:
            if (!code) flight->bytes *= read_word(flight->other);
            // fallthrough
        case ALLOCATE:
        case ARRAY:
        case CREATE:
            if (!code) flight->address = read_word(flight->out);
            // fallthrough
        case MAP:
        case REGISTER:
            if (function.object == HOST || function.object == REGISTERED) {
                flight->gpu = ON_HOST;
            } else if (flight->gpu == NOT_KNOWN) {
                flight->gpu = gpu;
            }
            if (!code) add_live(flight, &function, &of, context, now);
            bytes = flight->bytes;
            told = !code;
            break;
        case FREE:
            if (flight->was_live) {
                if (code) {
                    struct live_of live = {.address = flight->address, .pid = pid, .handle = function.object == PHYSICAL};
                    bpf_map_update_elem(&all_live, &live, &flight->live, BPF_ANY);
                } else {
                    add_memory(pid, flight->live.gpu, flight->live.object, flight->live.bytes, 1);
                }
                flight->other = flight->live.time;
            }
            told = !code;
            break;
        case LAUNCH:
        case LAUNCH_EX:
            kernel = flight->address;
            flight->gpu = gpu;
            told = 1;
            break;
        case COPY:
        case COPY_PEER:
        case COPY_2D:
        case COPY_3D:
            bytes = flight->bytes;
            direction = flight->direction;
            // Whose sums are by pair of GPUs.
            if (function.kind == COPY_PEER) direction |= (__u8)(flight->source + ENDS) << 8 | (__u8)(flight->destination + ENDS) << 16;
            flight->gpu = gpu;
            told = 1;
            break;
        case SET:
            bytes = flight->bytes;
            break;
        case FUNCTION:
            if (!code) learn_name(pid, read_word(flight->address), flight->other);
            break;
        case ALIAS:
            if (!code) learn_alias(pid, read_word(flight->address), flight->other);
            break;
        case NAMED:
            if (!code) learn_name(pid, flight->other, read_word(flight->address));
            break;
        case CONTEXT_MADE:
        case CONTEXT_FOUND:
            if (!code) follow_context(function.kind, id, read_word(flight->address), (__s32)flight->other);
            break;
        case DEVICE_GOT:
            if (!code) follow_context(DEVICE_GOT, id, flight->other, (__s32)read_word(flight->address));
            break;
        case CONTEXT_GOT:
            if (!code) follow_context(CONTEXT_GOT, id, read_word(flight->address), NOT_KNOWN);
            break;
        case CONTEXT_SET:
        case CONTEXT_PUSHED:
        case CONTEXT_POPPED:
            if (!code) follow_context(function.kind, id, flight->address, NOT_KNOWN);
            break;
        case CONTEXT_ENDED:
            context = flight->address;
            told = !code;
            if (!code) follow_context(CONTEXT_ENDED, id, context, NOT_KNOWN);
            break;
        case ADDRESS:
            // Told even where calls are not: the loader checks that it is an address that it knows.
            flight->address = read_word(flight->other);
            flight->other = flight->out;
            if (!code) tell(flight, &function, &of, context, now, code);
            break;
    }
    if (is_question(function.kind) && !count_questions) {
        bpf_map_delete_elem(&flights, &key);
        process_is_there(pid);
        return 0;
    }
    if (gpu == NOT_KNOWN && function.kind <= LAST_OF_WORK && !code) lacked = now;
    __u64 spent = now - flight->start;
    of.kernel = kernel;
    of.direction = direction;
    add_sums(&of, spent, code ? 0 : bytes, code != 0);
    add_time(&of, spent);
    if (code) add_error(&of, code);
    if (told && tell_calls) tell(flight, &function, &of, context, now, code);
    bpf_map_delete_elem(&flights, &key);
    process_is_there(pid);
    return 0;
}

// --- Processes ---

static __always_inline int process_ends(__u32 pid) {
    if (!bpf_map_lookup_elem(&processes, &pid)) return 0;
    bpf_map_delete_elem(&processes, &pid);
    tell_news(ENDED, pid);
    return 0;
}

SEC("raw_tp/sched_process_exit")
int exited(struct bpf_raw_tracepoint_args* at) {
    const struct task_struct* task = (const struct task_struct*)at->args[0];
    forget_thread();
    // The last thread of its process.
    if (BPF_CORE_READ(task, signal, live.counter)) return 0;
    return process_ends(BPF_CORE_READ(task, tgid));
}

SEC("raw_tp/sched_process_exec")
int executed(struct bpf_raw_tracepoint_args* at) {
    forget_thread();
    return process_ends(BPF_CORE_READ((const struct task_struct*)at->args[0], tgid));
}
