// Stands in for libcupti.so: it subscribes to the driver's events, where nobody else has ($CUPTI is its answer then).
#include <cstdlib>

namespace {
int answer() {
    const char* const given = std::getenv("CUPTI");
    return given ? std::atoi(given) : 0;
}
}  // namespace

extern "C" {
int cuptiSubscribe(void**, void*, void*) { return answer(); }
int cuptiSubscribe_v2(void**, void*, void*, void*) { return answer(); }
}
