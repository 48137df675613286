// reload THREADS ROUNDS [library]: on GPU 0, code that the driver compiles is loaded, launched and unloaded, ROUNDS times by each of
// THREADS host threads at the same time. Each round has a kernel of the same name, with more or fewer instructions, whose 1024 threads
// store 4 bytes each or, in every other round, load and store them. With `library` it is loaded as a library instead of a module.
//
// Remote traffic of a launch, to far memory (far_place); two launches a round and thread:
//   round  operation  accesses  lanes  bytes/lane  sectors
//   even   store      32        1024   4           128
//   odd    load       32        1024   4           128
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "arrays.cuh"
#include "driver.cuh"

constexpr int kThreads = 1024;

// Even rounds far[i] = near[i] + 1, odd ones near[i] = far[i] + 1. `waits` make it longer.
std::string code(int round, int waits) {
    const bool even = round % 2 == 0;
    std::string text = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry work(.param .u64 near, .param .u64 far)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd0, [near];
    ld.param.u64 %rd1, [far];
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.s32 %r3, %r0, %r1, %r2;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd3, %rd0, %rd2;
    add.u64 %rd4, %rd1, %rd2;
)";
    text += even ? "ld.global.u32 %r4, [%rd3];\n" : "ld.global.u32 %r4, [%rd4];\n";
    for (int k = 0; k < waits; ++k) text += "bar.sync 0;\n";
    text += "add.u32 %r4, %r4, 1;\n";
    text += even ? "st.global.u32 [%rd4], %r4;\n" : "st.global.u32 [%rd3], %r4;\n";
    return text + "ret;\n}\n";
}

// Whether a thread's rounds gave what they should.
bool rounds_of(int thread, int rounds, bool as_library, const Array& near, const Array& far) {
    CHECK(cudaSetDevice(0));
    bool right = true;
    for (int round = 0; round < rounds; ++round) {
        const std::string text = code(round, (round * 29 + thread * 11) % 97);
        CUmodule module = nullptr;
        CUlibrary library = nullptr;
        CUfunction work = nullptr;
        if (as_library) {
            CUkernel kernel = nullptr;
            CHECK(DRIVER(cuLibraryLoadData)(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
            CHECK(DRIVER(cuLibraryGetKernel)(&kernel, library, "work"));
            CHECK(DRIVER(cuKernelGetFunction)(&work, kernel));
        } else {
            CHECK(DRIVER(cuModuleLoadData)(&module, text.c_str()));
            CHECK(DRIVER(cuModuleGetFunction)(&work, module, "work"));
        }
        near.write(std::vector<uint32_t>(kThreads, 100 * round));
        far.write(std::vector<uint32_t>(kThreads, 100 * round + 50));
        void* addresses[] = {near.address, far.address};
        void* parameters[] = {&addresses[0], &addresses[1]};
        for (int k = 0; k < 2; ++k) CHECK(DRIVER(cuLaunchKernel)(work, kThreads / 256, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr));
        const bool even = round % 2 == 0;
        const auto words = (even ? far : near).read<uint32_t>();
        for (int i = 0; i < kThreads; ++i) right = right && words[i] == 100u * round + (even ? 1 : 51);
        CHECK(as_library ? DRIVER(cuLibraryUnload)(library) : DRIVER(cuModuleUnload)(module));
    }
    return right;
}

int main(int argc, char** argv) {
    const char* usage = "reload THREADS ROUNDS [library]";
    const bool as_library = argc == 4 && std::string(argv[3]) == "library";
    const bool known = argc == 3 || as_library;
    const int threads = static_cast<int>(argument(known ? argv[1] : nullptr, 1, 100, usage));
    const int rounds = static_cast<int>(argument(known ? argv[2] : nullptr, 1, 1000, usage));
    std::vector<Array> near, far;
    const int place = far_place("reload");
    for (int k = 0; k < threads; ++k) near.emplace_back(0), far.emplace_back(place);
    std::atomic<bool> right{true};
    std::vector<std::thread> all;
    for (int k = 0; k < threads; ++k)
        all.emplace_back([&, k] {
            if (!rounds_of(k, rounds, as_library, near[k], far[k])) right = false;
        });
    for (std::thread& thread : all) thread.join();
    return verdict(right);
}
