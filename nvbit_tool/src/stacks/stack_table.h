// Who called: the calling thread's stack as an id of the trace's table `stacks`, with the rows that it takes. Safe to call from any thread.
//
// A stack that the thread had before costs one look-up: its addresses and Python frames, all of them, are compared with what the thread
// kept. Only a new one is interned, under a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stacks/loaded_modules.h"
#include "stacks/python_frames.h"
#include "stacks/source_text.h"
#include "stacks/symbolizer.h"
#include "trace/trace_writer.h"

namespace snoopie {

class StackTable {
  public:
    using Notify = std::function<void(const std::string&)>;

    // `own`: a place in the code of the collector, whose frames are left out; null leaves none out.
    StackTable(TraceWriter* writer, const void* own, Notify notify);
    // Of another library as well. Before the first stack.
    void leave_out(const void* code);

    // The stack of the calling function, innermost the place from which it is called; without what is innermost in the driver. 0 = unknown.
    uint32_t here();

    // What stacks have in common: their outermost frames; 0 = none.
    uint32_t common(const std::vector<uint32_t>& stacks);

    // When the process ends: what the frames are. Takes `limit` at most; what is not found by then stays unknown.
    void write_symbols(std::chrono::milliseconds limit, void (*on_thread)());

  private:
    struct Thread;
    struct ThreadHolder;

    static Thread* of_this_thread();
    const PythonFrames* python() const { return python_.load(std::memory_order_acquire); }
    // The caller holds mutex_.
    uint32_t intern(std::vector<uint64_t> addresses, const PythonFrame* python_frames, size_t python_count);
    uint32_t native_frame(const LoadedModules::Module& module, uint64_t pc);
    uint32_t python_frame(const PythonFrame& frame);
    uint32_t new_frame(uint32_t module, uint64_t address);
    uint32_t module_id(const LoadedModule& module);
    uint32_t child(uint32_t frame, uint32_t caller);
    void find_python();
    bool is_own(const LoadedModule& module) const;

    TraceWriter* const writer_;
    std::vector<uint64_t> own_;  // a place in each
    const Notify notify_;
    const uint64_t serial_;  // tells it from one before it at the same address
    LoadedModules& loaded_;

    std::mutex mutex_;
    bool ends_in_driver_ = false;  // said in a notice
    bool returns_are_caught_ = false;
    bool full_ = false;
    LoadedModules::Changes looked_for_python_;
    bool python_refused_ = false;
    std::unique_ptr<PythonFrames> python_owner_;
    std::atomic<const PythonFrames*> python_{nullptr};
    SourceText source_;

    struct Native {
        uint32_t frame;
        std::string module;  // key of its module
        uint64_t address;    // in the module's file
    };
    std::vector<Native> natives_;
    std::map<std::string, uint32_t> modules_;  // by path and build id
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> native_frames_;
    std::unordered_map<uint64_t, uint32_t> python_frames_;                                  // by identity
    std::map<std::pair<std::pair<uint32_t, uint32_t>, uint32_t>, uint32_t> python_places_;  // by function, file and line
    std::unordered_map<uint64_t, uint32_t> stacks_;                                         // by caller and frame
    std::vector<uint32_t> callers_;                                                         // by stack - 1
    uint32_t last_frame_ = 0;
};

}  // namespace snoopie
