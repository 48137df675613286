// Reads a function's code through NVBit, puts its probes in and its sites into the catalog.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/files.h"
#include "launches/context.h"
#include "launches/function_reading.h"
#include "settings/options.h"
#include "trace/catalog.h"

namespace snoopie {

class Instrumenter {
  public:
    using Notify = std::function<void(const std::string&)>;

    // Of the options: whether source lines are looked up, how many accesses may share a call, and what probes do. `notify` gets remarks for
    // whoever reads the trace.
    Instrumenter(Catalog* catalog, const Options& options, Notify notify)
        : catalog_(catalog),
          lines_(options.code_attribution),
          waits_(options.waits),
          probes_(options.waits                               ? "snoopie_time_"
                  : options.blocks.shape != BlockFilter::kAll ? "snoopie_select_"
                  : options.sample_size > 0                   ? "snoopie_record_"
                                                              : "snoopie_count_"),
          copy_probes_(options.waits ? "snoopie_time_" : "snoopie_probe_"),
          notify_(std::move(notify)),
          reader_(options.packing, options.probes != Probes::full, notify_) {}

    // Instruments the kernel, and the device functions that this launch of it can call, in this context; fills in what `function` says of
    // them. Returns whether it put in any probe: none if it has been done. The caller holds the function's lock.
    bool prepare(const Context& context, const LaunchCall& call, ContextFunction* function);

    // A library's kernel has a function in each context, of the same code. Safe to call from any thread, and waits for no other's work.
    void is_function_of(CUfunction function, CUkernel kernel);
    // The program unloads code, or ends a context: what has its handles from then on can be other code.
    void forget_handles();
    // So can what lies where these functions lay.
    void forget(const Context& context, const std::vector<uint64_t>& identities);

    // Tensor maps have another layout than expected: tensor copies are not measured from now on.
    void distrust_tensor_maps() { tensor_maps_ = false; }

  private:
    // The functions of a module's table, by their place.
    using CallTable = std::vector<uint64_t>;

    void disassemble_new(CUcontext context, const std::vector<CUfunction>& functions);
    std::vector<CUfunction> reachable(const Context& context, const LaunchCall& call, ContextFunction* function);
    const CallTable* call_table(const Context& context, CUfunction kernel);
    struct Done {
        Catalog::Entry entry;
        std::shared_ptr<const FunctionAddresses> addresses;
    };
    Done instrument_one(const Context& context, CUfunction function);
    const FunctionReading& reading_of(CUcontext context, CUfunction function, const std::vector<Instr*>& instrs);
    const ModuleReading& module_of(CUcontext context, CUfunction function);
    // What all contexts know it by; the function itself if that is not known.
    CUfunction kernel_of(CUfunction function);

    Catalog* const catalog_;
    const bool lines_;
    const bool waits_;
    const std::string probes_;       // what the names of the probes begin with,
    const std::string copy_probes_;  // and of those of copies and of what is only counted
    const Notify notify_;
    const FunctionReader reader_;

    std::atomic<bool> tensor_maps_{true};

    std::mutex mutex_;                                          // NVBit reads code in one thread at a time
    std::map<std::pair<const Context*, uint64_t>, Done> done_;  // by context and identity
    std::map<std::pair<const Context*, CUmodule>, std::unique_ptr<CallTable>> call_tables_;
    std::map<std::pair<CUcontext, CUmodule>, const ModuleReading*> modules_;
    // By functions and by libraries' kernels, which have one handle in all contexts; the code may be another on GPUs of another kind.
    std::map<std::pair<int, CUfunction>, const ModuleReading*> modules_of_functions_;
    std::unordered_map<size_t, std::unique_ptr<ModuleReading>> modules_by_code_;  // by a hash of it
    // The module that was read last, as long as the functions are prepared that it is read for.
    struct {
        const ModuleReading* module = nullptr;
        MappedFile code;
    } last_read_;
    std::set<std::pair<const ModuleReading*, std::string>> disassembled_;  // functions that were, or are about to be
    // By the module, the function's name there, and whether tensor maps are as expected.
    std::map<std::tuple<const ModuleReading*, std::string, bool>, std::unique_ptr<FunctionReading>> readings_;

    std::mutex kernels_mutex_;
    std::unordered_map<CUfunction, CUkernel> kernels_;  // of libraries, by their functions as the program has asked for them
};

}  // namespace snoopie
