// Reads a function's code through NVBit, puts its probes in and its sites into the catalog.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "catalog.h"
#include "context.h"
#include "line_table.h"

namespace snoopie {

class Instrumenter {
  public:
    using Notify = std::function<void(const std::string&)>;

    // `lines`: whether source lines are looked up. `notify` gets remarks for whoever reads the trace.
    Instrumenter(Catalog* catalog, bool lines, Notify notify) : catalog_(catalog), lines_(lines), notify_(std::move(notify)) {}

    // Instruments the kernel, and the device functions it can call, in this context; fills in what `function` says of them.
    // The caller holds the function's lock.
    void instrument(const Context& context, CUfunction kernel, ContextFunction* function);

  private:
    Catalog::Entry instrument_one(const Context& context, CUfunction function);
    // The line table of the module that holds the function; null if it cannot be read.
    const LineTable* line_table(CUcontext context, CUfunction function);

    Catalog* const catalog_;
    const bool lines_;
    const Notify notify_;

    std::mutex mutex_;                                                    // NVBit reads code in one thread at a time
    std::map<std::pair<const Context*, uint64_t>, Catalog::Entry> done_;  // by context and identity
    std::unordered_map<size_t, std::unique_ptr<LineTable>> tables_;       // by a hash of the module
};

}  // namespace snoopie
