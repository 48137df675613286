// What snoopie.h and `snoopie.region` call, where this library is preloaded.
#include <exception>

#include "phases/ranges.h"
#include "phases/wanted.h"

using snoopie::Ranges;

extern "C" {

void snoopie_collector_push(const char* name) {
    try {
        Ranges& ranges = Ranges::of_process();
        ranges.push(ranges.name(name ? name : ""), nullptr);
    } catch (const std::exception&) {
    }
}

void snoopie_collector_pop() { Ranges::of_process().pop(nullptr); }

unsigned long long snoopie_collector_start(const char* name) {
    try {
        Ranges& ranges = Ranges::of_process();
        return ranges.start(ranges.name(name ? name : ""), nullptr);
    } catch (const std::exception&) {
        return 0;
    }
}

void snoopie_collector_end(unsigned long long number) { Ranges::of_process().end(number); }

void snoopie_collector_record(int on) { snoopie::wanted().by_program(on != 0); }

}  // extern "C"
