// Libraries for test_stacks and for the tests of Python's frames. Each calls back from a function of its own name, which is the only
// difference between most of them: so one can come to lie where another was.
using Callback = unsigned (*)(void*);

namespace {

// Not exported: without debug information, and stripped, it has no name.
__attribute__((noinline)) unsigned hidden(Callback callback, void* data) {
    const unsigned result = callback(data);
    asm volatile("");  // no tail call
    return result;
}

}  // namespace

extern "C" __attribute__((noinline)) unsigned ENTRY(Callback callback, void* data) {
    const unsigned result = hidden(callback, data);
    asm volatile("");
    return result;
}
