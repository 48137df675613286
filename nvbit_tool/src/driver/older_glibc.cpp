// g++'s archive asks for arc4random, which glibc has since 2.36, for std::random_device. Nothing here uses that, and with a function of the
// name in the library it loads where the newest symbol that it needs else is known: two years of distributions more.
#include <sys/random.h>

#include <cstdint>

extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() noexcept {
    uint32_t bits = 0;
    while (getrandom(&bits, sizeof bits, 0) != sizeof bits) {
    }
    return bits;
}
