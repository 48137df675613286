// Who waits for whom where threads load and launch code.
#include "base/code_turns.h"

#include <condition_variable>
#include <thread>
#include <vector>

#include "check.h"

using namespace snoopie;

namespace {

constexpr std::chrono::milliseconds kLong{600000}, kShort{1};
int places[200];
const void* const kOne = &places[0];
const void* const kOther = &places[1];

// Whether another thread gets the turn within kShort, which it gives back.
bool is_free(CodeTurns* turns, CodeTurns::Of of, const void* context, std::atomic<int>* in) {
    const int before = *in;
    std::thread([&] {
        turns->begin(of, context);
        ++*in;
        turns->end();
    }).join();
    return *in > before;
}

void calls_are_known_by_name() {
    using Of = CodeTurns::Of;
    for (const char* const call : {"cuLaunchKernel", "cuLaunchKernelEx_ptsz", "cuLaunch", "cuModuleLoadData", "cuModuleUnload",
                                   "cuKernelGetFunction", "cuFuncGetAttribute", "cuLibraryGetModule", "cuGraphLaunch_ptsz",
                                   "cuGraphInstantiateWithFlags", "cuOccupancyMaxActiveBlocksPerMultiprocessor"})
        CHECK(CodeTurns::call(call) == Of::context);
    for (const char* const call : {"cuLibraryLoadData", "cuLibraryUnload", "cuCtxCreate_v4", "cuCtxDestroy_v2", "cuDevicePrimaryCtxRetain",
                                   "cuDevicePrimaryCtxReset_v2"})
        CHECK(CodeTurns::call(call) == Of::all);
    // These wait for the GPU, ask for nothing of code, or run on the host.
    for (const char* const call : {"cuStreamSynchronize", "cuCtxSynchronize", "cuMemcpyDtoH_v2", "cuMemAlloc_v2", "cuEventRecord",
                                   "cuCtxGetCurrent", "cuLaunchHostFunc", "cuGraphicsMapResources", "cuDevicePrimaryCtxGetState", ""})
        CHECK(CodeTurns::call(call) == Of::none);
    CHECK(CodeTurns::call(nullptr) == Of::none);
}

// Threads that begin and end as they like: of each context, and of all, only one is in.
void turns_are_taken_one_at_a_time() {
    CodeTurns turns(kLong);
    int in[3] = {};  // written by who has the turn alone, as the sanitizer of threads would say too
    std::atomic<bool> together{false};
    std::vector<std::thread> threads;
    for (unsigned k = 0; k < 4; ++k)
        threads.emplace_back([&, k] {
            for (unsigned i = 0; i < 3000; ++i) {
                const unsigned what = (i * 7 + k) % 4;
                if (what == 3) {
                    turns.begin(CodeTurns::Of::all, nullptr);
                    for (int& one : in) together = together || one++ != 0;
                    for (int& one : in) --one;
                } else {
                    turns.begin(CodeTurns::Of::context, &places[what]);
                    together = together || in[what]++ != 0;
                    --in[what];
                }
                turns.end();
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(!together);
}

void calls_within_a_call_are_part_of_it() {
    CodeTurns turns(kShort);
    std::atomic<int> in{0};
    turns.begin(CodeTurns::Of::context, kOne);
    turns.begin(CodeTurns::Of::context, kOther);
    turns.begin(CodeTurns::Of::all, nullptr);
    turns.end();
    turns.end();
    // Another context is free, as none is taken within.
    std::thread([&] {
        turns.begin(CodeTurns::Of::context, kOther);
        ++in;
        turns.end();
    }).join();
    CHECK_EQ(in.load(), 1);
    turns.end();
    turns.end();  // one too many: an exit whose entry was not heard
    CHECK(is_free(&turns, CodeTurns::Of::all, nullptr, &in));
}

// A call that never returns, for what nobody can launch, holds up each context once, for the patience, and no longer.
void a_turn_that_does_not_come_is_gone_without() {
    CodeTurns turns(kShort);
    std::mutex mutex;
    std::condition_variable changed;
    bool begun = false, may_end = false;
    std::thread stuck([&] {
        turns.begin(CodeTurns::Of::context, kOne);
        std::unique_lock lock(mutex);
        begun = true;
        changed.notify_all();
        changed.wait(lock, [&] { return may_end; });
        turns.end();
    });
    {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return begun; });
    }
    std::atomic<int> in{0};
    for (int i = 0; i < 3; ++i) {
        CHECK(is_free(&turns, CodeTurns::Of::context, kOne, &in));
        CHECK(is_free(&turns, CodeTurns::Of::all, nullptr, &in));
    }
    {
        std::unique_lock lock(mutex);
        may_end = true;
        changed.notify_all();
    }
    stuck.join();
    turns.begin(CodeTurns::Of::context, kOne);
    turns.end();
}

// Of more contexts than there are turns, some share one.
void many_contexts_share() {
    CodeTurns turns(kShort);
    for (const int& place : places) {
        turns.begin(CodeTurns::Of::context, &place);
        turns.end();
    }
    turns.begin(CodeTurns::Of::all, nullptr);
    turns.end();
}

}  // namespace

int main() {
    calls_are_known_by_name();
    turns_are_taken_one_at_a_time();
    calls_within_a_call_are_part_of_it();
    a_turn_that_does_not_come_is_gone_without();
    many_contexts_share();
    return test::summary("code_turns");
}
