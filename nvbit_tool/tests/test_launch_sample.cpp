// Which launches LAUNCH_SAMPLE measures: the first, then one in every n, in step with no pattern of the program.
#include <vector>

#include "check.h"
#include "launches/launch_sample.h"

using namespace snoopie;

int main() {
    for (const uint32_t n : {1u, 2u, 7u, 100u}) {
        CHECK(launch_sampled(0, n));
        std::vector<uint64_t> by_parity(2, 0);
        for (uint64_t period = 0; period < 1000; ++period) {
            uint64_t chosen = 0;
            for (uint64_t k = period * n; k < (period + 1) * n; ++k) {
                if (!launch_sampled(k, n)) continue;
                ++chosen;
                ++by_parity[k % 2];
            }
            CHECK_EQ(chosen, 1u);
        }
        if (n % 2 == 0) CHECK(by_parity[0] > 400 && by_parity[1] > 400);
    }
    return test::summary("launch_sample");
}
