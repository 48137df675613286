#include "base/address_room.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace snoopie {

std::optional<uint64_t> address_room() {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
    uint64_t pages = 0;
    if (!(std::ifstream("/proc/self/statm") >> pages)) return std::nullopt;
    const uint64_t taken = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return limit.rlim_cur > taken ? limit.rlim_cur - taken : 0;
}

}  // namespace snoopie
