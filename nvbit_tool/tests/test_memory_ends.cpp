// When memory ends: physical memory with its last handle and mapping; calls that the destructors of a thread and of the program make.
#include <memory>
#include <thread>

#include "check.h"
#include "driver/thread_stack.h"
#include "memory/physical_memory.h"

using namespace snoopie;

namespace {

constexpr uint64_t kHandle = 0x70;

uint32_t release(PhysicalMemory& memory, uint64_t handle, bool succeeded = true) {
    return memory.released(memory.releasing(handle), succeeded);
}

uint32_t map(PhysicalMemory& memory, uint64_t handle, uint32_t mapping) {
    const uint32_t allocation = memory.mapping(handle);
    memory.mapped(allocation, mapping);
    return allocation;
}

void never_mapped() {
    PhysicalMemory memory;
    memory.created(kHandle, 1);
    CHECK_EQ(release(memory, kHandle), 1u);
    CHECK_EQ(release(memory, kHandle), 0u);  // it is known no more
}

void released_while_it_is_mapped() {
    PhysicalMemory memory;
    memory.created(kHandle, 1);
    CHECK_EQ(map(memory, kHandle, 2), 1u);
    CHECK_EQ(map(memory, kHandle, 3), 1u);
    CHECK_EQ(release(memory, kHandle), 0u);
    CHECK_EQ(memory.unmapped(2), 0u);
    CHECK_EQ(memory.unmapped(2), 0u);
    CHECK_EQ(memory.unmapped(3), 1u);
}

void unmapped_before_it_is_released() {
    PhysicalMemory memory;
    memory.created(kHandle, 1);
    map(memory, kHandle, 2);
    CHECK_EQ(memory.unmapped(2), 0u);
    CHECK_EQ(map(memory, kHandle, 3), 1u);  // and mapped again
    CHECK_EQ(memory.unmapped(3), 0u);
    CHECK_EQ(release(memory, kHandle), 1u);
}

void retained() {
    PhysicalMemory memory;
    memory.created(kHandle, 1);
    map(memory, kHandle, 2);
    memory.retained(kHandle, 2);  // the same value once more
    memory.retained(0x99, 7);     // of a mapping that is none of these
    CHECK_EQ(release(memory, kHandle), 0u);
    CHECK_EQ(memory.unmapped(2), 0u);
    CHECK_EQ(release(memory, kHandle), 1u);
}

void retained_when_all_handles_were_released() {
    PhysicalMemory memory;
    memory.created(kHandle, 1);
    map(memory, kHandle, 2);
    CHECK_EQ(release(memory, kHandle), 0u);
    memory.created(kHandle, 3);  // another allocation has got the value
    memory.retained(0x99, 2);
    CHECK_EQ(memory.unmapped(2), 0u);
    CHECK_EQ(map(memory, 0x99, 4), 1u);
    CHECK_EQ(release(memory, 0x99), 0u);
    CHECK_EQ(memory.unmapped(4), 1u);
    CHECK_EQ(release(memory, kHandle), 3u);
}

void handle_given_to_another_before_our_exit_event() {
    PhysicalMemory memory;
    memory.created(kHandle, 1);
    const auto under_way = memory.releasing(kHandle);
    memory.created(kHandle, 2);
    CHECK_EQ(memory.released(under_way, true), 1u);
    CHECK_EQ(release(memory, kHandle), 2u);
}

void failed_release() {
    PhysicalMemory memory;
    memory.created(kHandle, 1);
    CHECK_EQ(release(memory, kHandle, false), 0u);
    CHECK_EQ(map(memory, kHandle, 2), 1u);
    CHECK_EQ(memory.unmapped(2), 0u);
    CHECK_EQ(release(memory, kHandle), 1u);
}

void unknown_handles() {
    PhysicalMemory memory;  // imported memory, multicast objects
    CHECK_EQ(map(memory, kHandle, 2), 0u);
    CHECK_EQ(memory.unmapped(2), 0u);
    CHECK_EQ(release(memory, kHandle), 0u);
    CHECK_EQ(release(memory, kHandle, false), 0u);
}

thread_local ThreadStack<std::unique_ptr<int>> calls;

void calls_within_calls() {
    CHECK(calls.empty());
    CHECK(!calls.pop());
    calls.push(std::make_unique<int>(1));
    calls.push(std::make_unique<int>(2));
    CHECK_EQ(*calls.top(), 2);
    CHECK_EQ(**calls.pop(), 2);
    CHECK_EQ(**calls.pop(), 1);
    CHECK(calls.empty());
    calls.push(std::make_unique<int>(3));
    calls.push(std::make_unique<int>(4));
    const auto all = calls.take();
    CHECK_EQ(all.size(), 2u);
    CHECK_EQ(*all[0], 3);
    CHECK(calls.take().empty());
}

// Its destructor runs when the thread ends, after those of what the thread has used since.
struct CallsLate {
    bool touched = false;
    ~CallsLate() {
        calls.push(std::make_unique<int>(1));
        calls.push(std::make_unique<int>(2));
        CHECK_EQ(**calls.pop(), 2);
        CHECK_EQ(**calls.pop(), 1);
    }
};
thread_local CallsLate calls_late;

void calls_of_a_thread_that_ends() {
    std::thread([] {
        calls_late.touched = true;
        calls_within_calls();
    }).join();
}

}  // namespace

int main() {
    never_mapped();
    released_while_it_is_mapped();
    unmapped_before_it_is_released();
    retained();
    retained_when_all_handles_were_released();
    handle_given_to_another_before_our_exit_event();
    failed_release();
    unknown_handles();
    calls_within_calls();
    calls_of_a_thread_that_ends();
    return test::summary("memory ends");
}
