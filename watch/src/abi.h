// What the BPF program, the loader and snoopie/watch/stream.py have in common. All numbers are in the machine's own byte order.
#pragma once

#include <linux/types.h>

#define NO_ARGUMENT 255
#define NAME_BYTES 1024
#define STACK_DEPTH 64
#define STACKS 16384
#define DURATIONS 48
#define FUNCTIONS 1024

// Who is meant by an end of a copy, besides the numbers of GPUs.
#define ON_HOST -1
#define NOT_KNOWN -2
// What is added to them where 0 has to mean that nothing is said.
#define ENDS 3

// What a driver function does.
enum kind {
    CALL,       // nothing that is followed further: counted and timed
    ALLOCATE,   // makes memory: *a = address, b bytes
    PITCHED,    // *a = address, *b bytes in a row, c rows
    ARRAY,      // *a = array, b describes it
    CREATE,     // physical memory: *a = handle, b bytes, c says where
    MAP,        // memory at address a, b bytes, of the handle c
    REGISTER,   // memory that is there already: address a, b bytes
    FREE,       // ends what is at address a
    LAUNCH,     // function a; shape and stream are the arguments after it
    LAUNCH_EX,  // a describes shape and stream; function b
    GRAPH,      // stream b
    COPY,       // to a, from b, c bytes, stream d
    COPY_PEER,  // to a in context a + 1, from b in context b + 1, c bytes, stream d
    COPY_2D,    // a describes it, stream b
    COPY_3D,
    SET,            // address a, b elements of `object` bytes, in c rows
    FUNCTION,       // *a = function of the name b
    ALIAS,          // *a = another handle of the function b
    NAMED,          // *a = name of the function b
    CONTEXT_MADE,   // *a = context on device b, current from now on
    CONTEXT_FOUND,  // the same, and the current one stays
    CONTEXT_SET,    // the current one is a from now on
    CONTEXT_PUSHED,
    CONTEXT_POPPED,
    CONTEXT_GOT,    // *a is the current one: a question, as the next
    DEVICE_GOT,     // *a = device of the current context, or of b
    CONTEXT_ENDED,  // a ends, and its memory with it
    ADDRESS,        // *b = address of the function named a
};

// Up to this one they are for the current GPU.
#define LAST_OF_WORK SET

// As the trace has them: OBJECT_KINDS and DIRECTIONS of snoopie/trace/writer.py.
enum object { DEVICE, POOL, IN_ARRAY, MAPPING, IMPORT, MANAGED, HOST, REGISTERED, OF_GRAPH, MULTICAST, PHYSICAL };
enum direction { NONE, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, PEER, HOST_TO_HOST, OTHER };

// Places of arguments, from 0.
struct function {
    __u8 kind, object, a, b, c, d;
};

// One call that made, freed or copied memory, or launched.
struct event {
    __u64 start, end;
    __u32 pid, tid;
    __u16 function;
    __u8 kind, direction;
    __s32 code;
    __s16 gpu, destination, source, object;
    __s32 stack;
    __u32 shared_memory;
    __u64 address;  // of memory made, freed or written; the function launched
    __u64 other;    // of memory read; when memory that is freed was made
    __u64 bytes, stream, context, caller;
    __u32 grid[3], block[3];
};

_Static_assert(sizeof(struct event) == 120, "as in stream.py");

// What happens to a process.
enum news { LOADED, ENDED };
struct news_of {
    __u32 news, pid;
    __u64 time;
    __u32 uid, zero;
    // As it is known at that moment: soon nobody may be there to ask.
    char program[16];
};

// Driver calls, summed. Only the thread itself writes its sums, so that none needs a lock and none is kept once a CPU: they are exact.
// Of threads that have ended, the loader may add them up as those of thread 0.
struct sums_of {
    __u64 kernel;
    __u32 pid, tid;
    __u16 function;
    __s16 gpu;
    __u32 direction;
};
struct sums {
    __u64 calls, errors, total, least, most, bytes;
};

// Calls that took at least 2^n ns and less than twice that.
struct times_of {
    __u32 pid, tid;
    __u16 function;
    __s16 gpu;
};
struct times {
    __u64 calls[DURATIONS];
};

struct errors_of {
    __u32 pid, tid;
    __u16 function;
    __s16 gpu;
    __s32 code;
};

// Memory made and freed in all. Several threads add to it at once.
struct memory_of {
    __u32 pid;
    __s16 gpu, object;
};
struct memory {
    __u64 allocated, freed, allocations, frees;
};

// Memory that is there now.
struct live_of {
    __u64 address;
    __u32 pid, handle;  // handle: 1 = physical memory, whose handles are no addresses
};
struct live {
    __u64 bytes, time, caller, context;
    __u32 tid;
    __s32 stack;
    __s16 gpu, object;
    __u16 function, zero;
};

struct name_of {
    __u64 function;
    __u32 pid, zero;
};

// A call that is under way.
struct flight_of {
    __u64 thread;
    __u64 function;
};

// What was lost, by what was full.
enum lost { LOST_EVENTS, LOST_CALLS, LOST_SUMS, LOST_OBJECTS, LOST_STACKS, LOST_NAMES, LOST_NEWS, LOSSES };

// The loader's output: a frame header, then its content.
enum frame {
    FRAME_START,    // __u64 CLOCK_REALTIME less CLOCK_MONOTONIC; the names of the functions, each ended by a 0
    FRAME_PROCESS,  // news_of: it is watched from now on
    FRAME_NAMES,    // name_of and the name, NAME_BYTES long, again and again
    FRAME_STACK,    // __u64 number, then the addresses
    FRAME_EVENTS,   // event, again and again
    FRAME_SUMS,     // sums_of and sums of one or all processes, since the beginning
    FRAME_TIMES,
    FRAME_ERRORS,
    FRAME_MEMORY,
    FRAME_LIVE,
    FRAME_LOST,      // __u64 of each `lost`
    FRAME_END,       // news_of: it has ended, and all that there was of it has been said
    FRAME_NOTE,      // a sentence for people
    FRAME_ATTACHED,  // a path: the driver is watched there
    FRAME_TICK,      // __u64 CLOCK_MONOTONIC: all sums of this moment have been said
};
struct frame_header {
    __u32 frame, bytes;
};
