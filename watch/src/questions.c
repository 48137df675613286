#include "questions.h"

#include "libraries.h"
#include "watch.skel.h"

// What is current in a thread follows from the calls that make contexts and make them current. Only what was current before the watch began
// has to be asked for, and programs do that: the CUDA runtime may ask thousands of times in a step, which would be most of what a watch
// costs. What costs is the questions and not the time, so they are counted: a program that asks seldom is heard for as long as it takes,
// and one that asks at every call has soon said it. Where calls are of an unknown GPU after that, they are listened to again, after a
// pause, so that calls of which nobody ever asks cost little.
#define ENOUGH 20000
#define PAUSE 5000000000ULL

void choose_questions(struct watch_bpf* program, __u64 now) {
    static int attached = 1;
    static __u64 asked = 0, detached = 0;
    if (attached) {
        if (program->bss->questions - asked < ENOUGH) return;
        detach_questions(program);
        attached = 0;
        detached = now;
    } else if (program->bss->lacked > detached && now - detached >= PAUSE) {
        asked = program->bss->questions;
        attach_questions(program);
        attached = 1;
    }
}
