#include "names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "functions.h"

static const struct {
    const char* name;
    struct function is;
} kFollowed[] = {
#define ROW(name, kind, object, a, b, c, d) {#name, {kind, object, a, b, c, d}},
    FOLLOWED(ROW)
#undef ROW
};
#define KNOWN ((int)(sizeof(kFollowed) / sizeof(*kFollowed)))

// How the default stream is meant: each function that has a stream is there up to three times.
static const char* const kStreams[] = {"", "_ptds", "_ptsz"};
#define VARIANTS ((int)(sizeof(kStreams) / sizeof(*kStreams)))

// First VARIANTS of each row of kFollowed, then what is only counted.
static char* named[FUNCTIONS];
static int count = 0;

static void name_followed(void) {
    for (int i = 0; i < KNOWN * VARIANTS; ++i) {
        if (asprintf(&named[count], "%s%s", kFollowed[i / VARIANTS].name, kStreams[i % VARIANTS]) >= 0) ++count;
    }
}

void fill_functions(struct function* table) {
    for (int i = 0; i < KNOWN * VARIANTS; ++i) table[i] = kFollowed[i / VARIANTS].is;
}

int number_of(const char* name, int every) {
    if (!count) name_followed();
    for (int i = 0; i < count; ++i) {
        if (!strcmp(named[i], name)) return i;
    }
    if (!every || count == FUNCTIONS || strncmp(name, "cu", 2) || !isupper((unsigned char)name[2])) return -1;
    named[count] = strdup(name);
    return count++;
}

int newest_of(const char* name) {
    static const char* const kVersions[] = {"_v4", "_v3", "_v2", ""};
    for (size_t i = 0; i < sizeof(kVersions) / sizeof(*kVersions); ++i) {
        char versioned[128];
        snprintf(versioned, sizeof(versioned), "%s%s", name, kVersions[i]);
        int number = number_of(versioned, 0);
        if (number >= 0) return number;
    }
    return -1;
}

int is_question(int number) {
    if (number >= KNOWN * VARIANTS) return 0;
    int kind = kFollowed[number / VARIANTS].is.kind;
    return kind == CONTEXT_GOT || kind == DEVICE_GOT;
}

int named_functions(void) {
    if (!count) name_followed();
    return count;
}

const char* name_of_function(int number) { return named[number]; }
