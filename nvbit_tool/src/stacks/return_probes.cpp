#include "stacks/return_probes.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace snoopie {

bool catches_returns(uint64_t address, std::istream& maps) {
    const std::string name = " [uprobes]";
    for (std::string line; std::getline(maps, line);) {
        if (line.size() < name.size() || line.compare(line.size() - name.size(), name.size(), name) != 0) continue;
        char* end = nullptr;
        const uint64_t first = std::strtoull(line.c_str(), &end, 16);
        if (*end == '-' && first <= address && address < std::strtoull(end + 1, nullptr, 16)) return true;
    }
    return false;
}

bool catches_returns(uint64_t address) {
    // It is the beginning of a page, as few return addresses are.
    if (address % static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) != 0) return false;
    std::ifstream maps("/proc/self/maps");
    return catches_returns(address, maps);
}

}  // namespace snoopie
