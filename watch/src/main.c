// Watches driver calls of programs that run, and writes what it sees to standard output: the frames of abi.h.
//
//   snoopie_watch [--pid PID]… [--cgroup PATH] [--totals] [--every-call] [--stacks] [--buffer BYTES] [--one-by-one]
//
// --one-by-one attaches as kernels before 6.6 do, for tests.
//
// `snoopie watch` starts it. It ends with SIGTERM or SIGINT, or when nobody reads its output; its probes end with it.

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "libraries.h"
#include "mappings.h"
#include "names.h"
#include "output.h"
#include "probes.h"
#include "questions.h"
#include "tables.h"
#include "watch.skel.h"

#define MOST_PIDS 64
// Milliseconds between two looks at single calls, which wake nobody; between two frames of them; between two looks at the tables.
#define LOOK 50
#define TELL 200
#define TICK 1000

struct options {
    pid_t pids[MOST_PIDS];
    int pid_count, totals, every, stacks, one_by_one;
    const char* cgroup;
    __u32 buffer;
};

static struct options options = {.buffer = 1 << 24};
static struct choice choice;
// Of the processes that were named. One can be read from once its process has ended, whether or not its parent has asked how, and is
// never that of a later process with the number.
static struct pollfd named[MOST_PIDS];
static struct watch_bpf* program;
static struct buffer events;
static volatile sig_atomic_t ended = 0;

static void end(int signal) {
    (void)signal;
    ended = 1;
}

static __u64 now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (__u64)time.tv_sec * 1000000000 + (__u64)time.tv_nsec;
}

static __u64 since_epoch(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (__u64)time.tv_sec * 1000000000 + (__u64)time.tv_nsec;
}

// One line, and the end.
__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char* format, ...) {
    va_list values;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(1);
}

static int quiet(enum libbpf_print_level level, const char* format, va_list values) {
    if (level == LIBBPF_WARN && getenv("SNOOPIE_WATCH_DEBUG")) return vfprintf(stderr, format, values);
    return 0;
}

static void read_options(int count, char** words) {
    static const struct option kOptions[] = {
        {"pid", required_argument, NULL, 'p'},  {"cgroup", required_argument, NULL, 'c'}, {"totals", no_argument, NULL, 't'},
        {"every-call", no_argument, NULL, 'e'}, {"stacks", no_argument, NULL, 's'},       {"buffer", required_argument, NULL, 'b'},
        {"one-by-one", no_argument, NULL, 'o'}, {"version", no_argument, NULL, 'v'},      {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(count, words, "", kOptions, NULL)) != -1;) {
        switch (option) {
            case 'p':
                if (options.pid_count == MOST_PIDS) fail("more than %d processes are named; watch their cgroup, or all", MOST_PIDS);
                options.pids[options.pid_count++] = (pid_t)atoi(optarg);
                break;
            case 'c':
                options.cgroup = optarg;
                break;
            case 't':
                options.totals = 1;
                break;
            case 'e':
                options.every = 1;
                break;
            case 's':
                options.stacks = 1;
                break;
            case 'b':
                options.buffer = (__u32)strtoul(optarg, NULL, 10);
                break;
            case 'o':
                options.one_by_one = 1;
                break;
            case 'v':
                puts(SNOOPIE_VERSION);
                exit(0);
            default:
                exit(2);
        }
    }
}

// The id of a cgroup, and how deep it lies below the root of the hierarchy.
static void choose_cgroup(const char* path) {
    struct stat found;
    if (stat(path, &found)) fail("the cgroup %s cannot be read (%s)", path, strerror(errno));
    program->rodata->cgroup = found.st_ino;
    __u32 level = 0;
    char above[4096];
    snprintf(above, sizeof(above), "%s", path);
    // Each cgroup has cgroup.controllers, the root too.
    for (char file[4200];; ++level) {
        snprintf(file, sizeof(file), "%s/../cgroup.controllers", above);
        if (strlen(above) + 3 >= sizeof(above) || access(file, F_OK)) break;
        strcat(above, "/..");
    }
    program->rodata->cgroup_level = level;
}

static int open_program(int together) {
    program = watch_bpf__open();
    if (!program) fail("the BPF program cannot be read (%s)", strerror(errno));
    fill_functions((struct function*)program->rodata->functions);
    program->rodata->tell_calls = !options.totals;
    program->rodata->every_stack = options.stacks != 0;
    program->rodata->count_questions = options.every != 0;
    if (options.cgroup) choose_cgroup(options.cgroup);
    bpf_map__set_max_entries(program->maps.events, options.buffer);
    prepare_probes(program, together);
    return watch_bpf__load(program);
}

static void load(void) {
    // Before kernel 5.11, memory of BPF programs counts as locked.
    struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY}, files;
    setrlimit(RLIMIT_MEMLOCK, &unlimited);
    // Each probe is an open file.
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    int error = open_program(!options.one_by_one && probes_together());
    if (error) fail("the kernel refuses the BPF program (%s)", strerror(-error));
}

// --- What comes while it runs ---

// The name that a program asked cuGetProcAddress for.
static void check_address(const struct event* event) {
    char name[128] = {0};
    struct iovec to = {name, sizeof(name) - 1}, from = {(void*)event->other, sizeof(name) - 1};
    ssize_t bytes = process_vm_readv((pid_t)event->pid, &to, 1, &from, 1, 0);
    // At the end of a page there may be less.
    if (bytes <= 0) {
        to.iov_len = from.iov_len = 4096 - event->other % 4096;
        if (to.iov_len >= sizeof(name) || process_vm_readv((pid_t)event->pid, &to, 1, &from, 1, 0) <= 0) return;
    }
    attach_to_address(program, &choice, (pid_t)event->pid, event->address, name);
}

static int on_event(void* context, void* data, size_t bytes) {
    (void)context;
    const struct event* event = data;
    if (event->kind == ADDRESS) {
        check_address(event);
        return 0;
    }
    put_stack(program, event->stack);
    append(&events, data, bytes);
    return 0;
}

static struct ring_buffer *event_ring, *news_ring;

static void put_functions(void) {
    static int put = 0;
    if (put == named_functions()) return;
    struct buffer names = {0};
    __u64 offset = since_epoch() - now();
    append(&names, &offset, sizeof(offset));
    for (put = 0; put < named_functions(); ++put) append(&names, name_of_function(put), strlen(name_of_function(put)) + 1);
    put_buffer(FRAME_START, &names);
    free(names.data);
}

// Names before the launches that have them.
static void put_events(void) {
    ring_buffer__consume(event_ring);
    put_functions();
    put_names(program);
    put_buffer(FRAME_EVENTS, &events);
}

// Of processes that have the driver and have not called it yet.
static void on_driver(pid_t pid) {
    struct news_of one = {.news = LOADED, .pid = (__u32)pid, .time = now()};
    put_frame(FRAME_PROCESS, &one, sizeof(one));
    flush_frames();
}

static int chosen(pid_t pid) {
    for (int i = 0; i < choice.count; ++i) {
        if (choice.pids[i] == pid) return 1;
    }
    return !choice.count;
}

static int on_news(void* context, void* data, size_t bytes) {
    (void)context;
    (void)bytes;
    const struct news_of* one = data;
    pid_t pid = (pid_t)one->pid;
    if (!chosen(pid)) return 0;
    if (one->news == LOADED) {
        put_frame(FRAME_PROCESS, one, sizeof(*one));
        flush_frames();
        return 0;
    }
    // All that it did was told before.
    put_events();
    put_tables(program, pid);
    put_frame(FRAME_END, one, sizeof(*one));
    forget(program, pid);
    flush_frames();
    return 0;
}

static void on_mapping(pid_t pid) {
    if (chosen(pid)) attach_to_process(program, &choice, pid);
}

static void look_for_drivers(void) {
    if (!look_at_mappings(LIBRARY, on_mapping) || choice.count) return;
    attach_to_all(program, &choice);
}

static void put_tick(void) {
    put_events();
    put_tables(program, 0);
    __u64 time = now();
    put_frame(FRAME_TICK, &time, sizeof(time));
    flush_frames();
}

// --- From the beginning to the end ---

static void begin(void) {
    event_ring = ring_buffer__new(bpf_map__fd(program->maps.events), on_event, NULL, NULL);
    news_ring = ring_buffer__new(bpf_map__fd(program->maps.news), on_news, NULL, NULL);
    if (!event_ring || !news_ring) fail("the rings cannot be mapped (%s)", strerror(errno));
    if (!(program->links.exited = bpf_program__attach(program->progs.exited)) ||
        !(program->links.executed = bpf_program__attach(program->progs.executed))) {
        fail("the kernel does not tell which processes end (%s)", strerror(errno));
    }
    if (begin_mappings()) {
        put_note("The kernel does not tell which files are mapped (%s): drivers that come with containers that start later are not seen.",
                 strerror(errno));
    }
    put_functions();
    if (!choice.count) attach_to_all(program, &choice);
    for (int i = 0; i < choice.count; ++i) {
        named[i] = (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, choice.pids[i], 0), .events = POLLIN};
        if (named[i].fd < 0) fail("process %d cannot be watched (%s)", choice.pids[i], strerror(errno));
        attach_to_process(program, &choice, choice.pids[i]);
    }
    put_functions();
    put_tick();
}

// Whether none of the processes that were named runs any more.
static int all_gone(void) { return choice.count > 0 && poll(named, (nfds_t)choice.count, 0) == choice.count; }

static void watch(void) {
    struct pollfd news = {.fd = ring_buffer__epoll_fd(news_ring), .events = POLLIN};
    __u64 ticked = now(), told = ticked;
    while (!ended) {
        poll(&news, 1, LOOK);
        ring_buffer__consume(news_ring);
        ring_buffer__consume(event_ring);
        look_for_drivers();
        __u64 time = now();
        choose_questions(program, time);
        if (time - told >= TELL * 1000000ULL) {
            told = time;
            put_events();
            flush_frames();
        }
        if (time - ticked >= TICK * 1000000ULL) {
            ticked = time;
            put_tick();
            if (all_gone()) break;
        }
    }
}

int main(int count, char** words) {
    read_options(count, words);
    libbpf_set_print(quiet);
    libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    // With whoever started it.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    choice = (struct choice){.pids = options.pids, .count = options.pid_count, .every = options.every};
    // Which of them are in the cgroup, only the BPF program knows.
    if (!options.cgroup) choice.found = on_driver;
    load();
    begin();
    watch();
    detach(program, QUESTIONS);
    detach(program, LASTING);
    ring_buffer__consume(news_ring);
    put_live(program);
    put_tick();
    return 0;
}
