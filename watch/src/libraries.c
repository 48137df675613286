#include "libraries.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "names.h"
#include "output.h"
#include "probes.h"
#include "symbols.h"

// Where functions are, and their numbers.
struct places {
    __u64 *offsets, *numbers;
    int count;
};

// A file with probes: in all processes (pid -1), or in one.
struct library {
    dev_t device;
    ino_t inode;
    pid_t pid;
    char* path;
    // Under which it is there for as long as it is open, also when the process has gone in whose file system it is.
    char opened[32];
    struct places places[GROUPS];
    // Whether it was said that functions of it are called that it does not export.
    int told;
};
static struct library* libraries = NULL;
static int library_count = 0;
static int questions_probed = 1;

struct finding {
    const struct choice* choice;
    struct library* library;
};

static int has_offset(const struct library* library, __u64 offset) {
    for (int group = 0; group < GROUPS; ++group) {
        const struct places* places = &library->places[group];
        for (int i = 0; i < places->count; ++i) {
            if (places->offsets[i] == offset) return 1;
        }
    }
    return 0;
}

static void add_place(struct places* places, __u64 offset, int number) {
    __u64* offsets = realloc(places->offsets, sizeof(*offsets) * (size_t)(places->count + 1));
    if (offsets) places->offsets = offsets;
    __u64* numbers = realloc(places->numbers, sizeof(*numbers) * (size_t)(places->count + 1));
    if (numbers) places->numbers = numbers;
    if (!offsets || !numbers) return;
    offsets[places->count] = offset;
    numbers[places->count++] = (__u64)number;
}

// Where all calls are counted, the probes of questions are needed for good.
static enum group group_of(const struct choice* choice, int number) { return is_question(number) && !choice->every ? QUESTIONS : LASTING; }

static void find_function(void* context, const char* name, uint64_t offset) {
    struct finding* state = context;
    int number = number_of(name, state->choice->every);
    if (number < 0) return;
    // Two names of one function are one function.
    if (!has_offset(state->library, offset)) add_place(&state->library->places[group_of(state->choice, number)], offset, number);
}

// Probes the functions of a group from the one of this place on.
static int probe_from(struct watch_bpf* program, const struct library* library, enum group group, int first) {
    const struct places* places = &library->places[group];
    if (first == places->count || (group == QUESTIONS && !questions_probed)) return 0;
    return probe(program, group, library->opened, library->pid, places->offsets + first, places->numbers + first, places->count - first);
}

void attach_questions(struct watch_bpf* program) {
    questions_probed = 1;
    // Without them some GPUs stay unknown, which is said of the calls.
    for (int i = 0; i < library_count; ++i) probe_from(program, &libraries[i], QUESTIONS, 0);
}

void detach_questions(struct watch_bpf* program) {
    questions_probed = 0;
    detach(program, QUESTIONS);
}

static struct library* known(dev_t device, ino_t inode, pid_t pid) {
    for (int i = 0; i < library_count; ++i) {
        if (libraries[i].device == device && libraries[i].inode == inode && libraries[i].pid == pid) return &libraries[i];
    }
    return NULL;
}

static void attach_to_file(struct watch_bpf* program, const struct choice* choice, const char* path, pid_t pid) {
    struct stat found;
    if (stat(path, &found) || known(found.st_dev, found.st_ino, pid)) return;
    struct library* more = realloc(libraries, sizeof(*more) * (size_t)(library_count + 1));
    if (!more) return;
    libraries = more;
    struct library* library = &libraries[library_count++];
    *library = (struct library){.device = found.st_dev, .inode = found.st_ino, .pid = pid, .path = strdup(path)};
    snprintf(library->opened, sizeof(library->opened), "/proc/self/fd/%d", open(path, O_PATH | O_CLOEXEC));
    struct finding state = {.choice = choice, .library = library};
    if (exported_functions(path, find_function, &state)) {
        put_note("%s is not a library that can be read: what is done through it is not seen.", path);
    } else if (probe_from(program, library, LASTING, 0) || probe_from(program, library, QUESTIONS, 0)) {
        put_note("%s could not be probed (%s): what is done through it is not seen.", path, strerror(errno));
    } else if (library->places[LASTING].count) {
        put_frame(FRAME_ATTACHED, path, strlen(path));
    }
}

// The path of a mapped file in its line of /proc/PID/maps; NULL for what is not the driver's library.
static char* driver_in(char* line) {
    char* path = strchr(line, '/');
    if (!path) return NULL;
    path[strcspn(path, "\n")] = 0;
    const char* name = strrchr(path, '/') + 1;
    return strncmp(name, LIBRARY, strlen(LIBRARY)) ? NULL : path;
}

void attach_to_process(struct watch_bpf* program, const struct choice* choice, pid_t pid) {
    char name[64], line[PATH_MAX + 256];
    snprintf(name, sizeof(name), "/proc/%d/maps", pid);
    FILE* maps = fopen(name, "re");
    if (!maps) return;
    int found = 0;
    while (fgets(line, sizeof(line), maps)) {
        char *mapped = driver_in(line), path[PATH_MAX + 64];
        if (!mapped) continue;
        // In the process's own file system; of a file that was replaced, what is mapped.
        snprintf(path, sizeof(path), "/proc/%d/root%s", pid, mapped);
        if (strstr(mapped, " (deleted)")) snprintf(path, sizeof(path), "/proc/%d/map_files/%.*s", pid, (int)strcspn(line, " "), line);
        attach_to_file(program, choice, path, choice->count ? pid : -1);
        found = 1;
    }
    fclose(maps);
    if (found && choice->found) choice->found(pid);
}

void attach_to_all(struct watch_bpf* program, const struct choice* choice) {
    static const char* const kFolders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
                                           "/usr/lib/wsl/lib"};
    for (size_t i = 0; i < sizeof(kFolders) / sizeof(*kFolders); ++i) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s.1", kFolders[i], LIBRARY);
        attach_to_file(program, choice, path, -1);
    }
    DIR* processes = opendir("/proc");
    for (struct dirent* entry; processes && (entry = readdir(processes));) {
        if (isdigit((unsigned char)*entry->d_name)) attach_to_process(program, choice, (pid_t)atoi(entry->d_name));
    }
    if (processes) closedir(processes);
}

void attach_to_address(struct watch_bpf* program, const struct choice* choice, pid_t pid, __u64 address, const char* function) {
    char name[64], line[PATH_MAX + 256];
    snprintf(name, sizeof(name), "/proc/%d/maps", pid);
    FILE* maps = fopen(name, "re");
    while (maps && fgets(line, sizeof(line), maps)) {
        unsigned long long start, end, offset, inode;
        unsigned major_number, minor_number;
        char access[8];
        if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu", &start, &end, access, &offset, &major_number, &minor_number, &inode) != 7 ||
            address < start || address >= end || !driver_in(line)) {
            continue;
        }
        struct library* library = known(makedev(major_number, minor_number), inode, choice->count ? pid : -1);
        __u64 at = address - start + offset;
        int number = newest_of(function);
        if (library && number >= 0 && !has_offset(library, at)) {
            enum group group = group_of(choice, number);
            add_place(&library->places[group], at, number);
            if (probe_from(program, library, group, library->places[group].count - 1)) continue;
            if (library->told++) continue;
            put_note("cuGetProcAddress gives addresses that %s does not export, such as one of %s; calls there are seen from now on.",
                     library->path, name_of_function(number));
        }
    }
    if (maps) fclose(maps);
}
