/* Phases of a program for Snoopie, in C and C++: what runs between snoopie_begin and snoopie_end on a thread is of the phase that is named,
   and snoopie_record says when to record. Under `snoopie run` the functions are the collector's; else they do nothing. Nothing is to be
   linked (before glibc 2.34: -ldl).

     snoopie_begin("halo");
     exchange<<<blocks, threads>>>(...);
     snoopie_end();
*/
#ifndef SNOOPIE_H
#define SNOOPIE_H

#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The collector's function of this name, NULL without one. The collector is preloaded: it is there from the start or never. */
static inline void* snoopie_find_(const char* name) {
    void* const program = dlopen(NULL, RTLD_LAZY);
    return program ? dlsym(program, name) : NULL;
}

/* `function`: the collector's. Threads that look at the same time find the same. */
#define SNOOPIE_FUNCTION_(type, name)                         \
    static type function = NULL;                              \
    static int looked = 0;                                    \
    if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {        \
        const type found = (type)snoopie_find_(name);         \
        __atomic_store_n(&function, found, __ATOMIC_RELAXED); \
        __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);       \
    }

typedef void (*snoopie_push_)(const char*);
typedef void (*snoopie_pop_)(void);
typedef void (*snoopie_record_)(int);

/* A phase begins on this thread, within those that it has begun before. */
static inline void snoopie_begin(const char* name) {
    SNOOPIE_FUNCTION_(snoopie_push_, "snoopie_collector_push")
    if (function) function(name);
}

/* The phase that began last ends. */
static inline void snoopie_end(void) {
    SNOOPIE_FUNCTION_(snoopie_pop_, "snoopie_collector_pop")
    if (function) function();
}

/* From here on the process is recorded (1), or is not (0). */
static inline void snoopie_record(int on) {
    SNOOPIE_FUNCTION_(snoopie_record_, "snoopie_collector_record")
    if (function) function(on);
}

#undef SNOOPIE_FUNCTION_

#ifdef __cplusplus
}
#endif

#endif
