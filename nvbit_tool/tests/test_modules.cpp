// Launches by kernels and recursion, found in modules that nvcc made (tests/data).
#include <random>

#include "check.h"
#include "code/device_launches.h"
#include "code/recursion.h"
#include "test_data.h"

using namespace snoopie;
using test::read;

namespace {

DeviceLaunches find(const std::string& bytes) {
    const auto cubin = Cubin::parse(bytes, nullptr);
    if (cubin) recursive_functions(*cubin);
    return cubin ? DeviceLaunches::find(*cubin) : DeviceLaunches();
}

void launcher() {
    const DeviceLaunches found = find(read("launcher.sm_90.cubin"));
    CHECK_EQ(found.calls.size(), 1u);
    CHECK(found.calls.count("_Z6parentPi") && found.calls.at("_Z6parentPi").size() == 1);
    CHECK(found.calls.at("_Z6parentPi")[0] % 16 == 0);  // where an instruction begins
    CHECK(found.targets.count("_Z5childPi") == 1);
    CHECK(found.targets.count("_Z6parentPi") == 0 && found.targets.count("_Z9bystanderPi") == 0);
}

void others() {
    const DeviceLaunches found = find(read("linked.sm_90.cubin"));
    CHECK(found.calls.empty() && found.targets.empty());  // functions are called there, kernels are not launched
}

void recursion() {
    const std::string bytes = read("recursive.sm_90.cubin");
    const auto found = recursive_functions(*Cubin::parse(bytes, nullptr));
    CHECK(found.count("_Z9recursivePi") == 1);
    CHECK(found.count("_Z8straightPi") == 0);
    const std::string linked = read("linked.sm_90.cubin");
    CHECK(recursive_functions(*Cubin::parse(linked, nullptr)).empty());
}

void damaged(const std::string& name) {
    const std::string whole = read(name);
    for (size_t size = 0; size < whole.size(); size += 97) find(whole.substr(0, size));
    std::mt19937 random(1);
    for (int round = 0; round < 2000; ++round) {
        std::string bytes = whole;
        for (int i = 0; i < 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
        find(bytes);
    }
    CHECK(true);  // no sanitizer has complained
}

}  // namespace

int main() {
    launcher();
    others();
    recursion();
    damaged("launcher.sm_90.cubin");
    damaged("recursive.sm_90.cubin");
    return test::summary("modules");
}
