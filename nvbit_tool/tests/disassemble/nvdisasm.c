// Stands in for NVIDIA's disassembler: looks at its input, does its work, opens its input again, and prints what depends on the content.
//
// The content chooses what goes wrong. Its own name chooses what another disassembler could do: open its input once alone, keep the size
// that it saw first, or end before it has opened anything. Each start leaves a line in the file `runs` beside it.
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_called(const char* program, const char* name) { return strcmp(strrchr(program, '/') + 1, name) == 0; }
static int begins(const char* text, const char* with) { return strncmp(text, with, strlen(with)) == 0; }

static int refuse(const char* sentence, const char* path) {
    fprintf(stderr, "%s %s\n", sentence, path);
    return 1;
}

static void note_run(const char* program) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", program);
    strcpy(strrchr(path, '/'), "/runs");
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd < 0 || write(fd, "run\n", 4) != 4) abort();
    close(fd);
}

// Says that it is there, and goes on when it is told to.
static void wait_for_go(const char* told_by) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s.%d", (int)strcspn(told_by, "\n"), told_by, (int)getpid());
    close(open(path, O_WRONLY | O_CREAT, 0666));
    snprintf(path, sizeof path, "%.*s.go", (int)strcspn(told_by, "\n"), told_by);
    while (access(path, F_OK) != 0) usleep(1000);
}

int main(int argc, char** argv) {
    char program[PATH_MAX] = "";
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0 || argc < 2) return refuse("usage", "-b ARCHITECTURE FILE");
    note_run(program);
    if (is_called(program, "ends_early")) return refuse("cannot start", program);

    const char* path = argv[argc - 1];
    FILE* file = fopen(path, "rb");
    if (!file) return refuse("cannot open", path);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    fseek(file, 0, SEEK_SET);
    char* content = calloc(size + 1, 1);
    if (fread(content, size, 1, file) != 1) return refuse("cannot read", path);
    fclose(file);

    if (!is_called(program, "opens_once")) {
        file = fopen(path, "rb");
        if (!file) return refuse("cannot open again", path);
        struct stat info;
        if (!is_called(program, "keeps_size") && fstat(fileno(file), &info) == 0) size = (size_t)info.st_size;
        content = realloc(content, size + 1);
        size = fread(content, 1, size, file);
        content[size] = '\0';
        fclose(file);
    }

    if (begins(content, "bad")) return refuse("bad code in", path);
    if (begins(content, "crash")) abort();
    if (begins(content, "warn")) refuse("old code in", path);
    if (begins(content, "path")) printf("from %s\n", path);
    if (begins(content, "silent")) return 0;
    if (begins(content, "wait ")) wait_for_go(content + strlen("wait "));
    for (int i = 1; i < argc - 1; ++i) printf("%s ", argv[i]);
    fwrite(content, 1, size, stdout);
    return 0;
}
