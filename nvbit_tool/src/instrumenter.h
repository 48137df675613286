// Reads a function's code through NVBit, puts its probes in and its sites into the catalog.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "catalog.h"
#include "context.h"
#include "device_launches.h"
#include "line_table.h"

namespace snoopie {

class Instrumenter {
  public:
    using Notify = std::function<void(const std::string&)>;

    // `lines`: whether source lines are looked up. `notify` gets remarks for whoever reads the trace.
    Instrumenter(Catalog* catalog, bool lines, Notify notify) : catalog_(catalog), lines_(lines), notify_(std::move(notify)) {}

    // Instruments the kernel, and the device functions that this launch of it can call, in this context; fills in what `function` says of
    // them. Does nothing if it has been done. The caller holds the function's lock.
    //
    // NVBit makes the instrumented code after the entry of the launch call. If another thread puts probes into the same kernel on another
    // GPU meanwhile, the launch can run its original code, uncounted: where there is something new, *until_exit is to be held until the
    // exit of the call. It is waited for only so long, because a launch can wait for another thread's.
    using FirstLaunch = std::unique_lock<std::recursive_timed_mutex>;
    void prepare(const Context& context, const LaunchCall& call, ContextFunction* function, FirstLaunch* until_exit);

    // Tensor maps have another layout than expected: tensor copies are not measured from now on.
    void distrust_tensor_maps() { tensor_maps_ = false; }

  private:
    // The functions of a module's table, by their place.
    using CallTable = std::vector<uint64_t>;

    void disassemble_new(const Context& context, const std::vector<CUfunction>& functions);
    std::vector<CUfunction> reachable(const Context& context, const LaunchCall& call, ContextFunction* function);
    const CallTable* call_table(const Context& context, CUfunction kernel);
    Catalog::Entry instrument_one(const Context& context, CUfunction function);
    // What is read from the module that holds the function.
    struct Module {
        LineTable lines;
        DeviceLaunches launches;
        std::unordered_set<std::string> recursive;
    };
    const Module& module_of(CUcontext context, CUfunction function);

    Catalog* const catalog_;
    const bool lines_;
    const Notify notify_;

    static constexpr auto kFirstLaunchPatience = std::chrono::seconds(5);

    std::atomic<bool> tensor_maps_{true};
    std::recursive_timed_mutex first_launch_;

    std::mutex mutex_;                                                    // NVBit reads code in one thread at a time
    std::map<std::pair<const Context*, uint64_t>, Catalog::Entry> done_;  // by context and identity
    std::map<std::pair<const Context*, CUmodule>, std::unique_ptr<CallTable>> call_tables_;
    std::map<std::pair<CUcontext, CUmodule>, const Module*> modules_;
    std::unordered_map<size_t, std::unique_ptr<Module>> modules_by_code_;  // by a hash of it
};

}  // namespace snoopie
