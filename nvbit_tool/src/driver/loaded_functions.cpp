#include "driver/loaded_functions.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

class Function;  // NVBit's

namespace snoopie {

namespace {

using Table = std::unordered_map<CUfunction, Function*>;

// Which events these are, and what they begin with.
constexpr uint32_t kModuleLoaded = 0x11, kModuleUnloading = 0x12, kFunctionLoaded = 0x21;
struct Event {
    uint64_t unused;
    CUcontext context;
    CUmodule module;
};

struct OfContext {
    Table* table = nullptr;
    std::unordered_map<CUmodule, std::vector<CUfunction>> functions;
};

class Tables {
  public:
    void came(CUcontext context, CUmodule module, Table* table, CUfunction function) {
        const std::unique_lock lock(mutex_);
        OfContext& known = contexts_[context];
        known.table = table;
        known.functions[module].push_back(function);
    }
    void unload(CUcontext context, CUmodule module) {
        const std::unique_lock lock(mutex_);
        const auto known = contexts_.find(context);
        if (known == contexts_.end()) return;
        const auto of_module = known->second.functions.find(module);
        if (of_module == known->second.functions.end()) return;
        // What they point to stays: NVBit may still have it in its hands.
        for (const CUfunction function : of_module->second) known->second.table->erase(function);
        known->second.functions.erase(of_module);
    }
    void forget(CUcontext context) {
        const std::unique_lock lock(mutex_);
        contexts_.erase(context);
    }

  private:
    std::mutex mutex_;
    std::unordered_map<CUcontext, OfContext> contexts_;
};

// Never destroyed: threads still make calls while the process ends.
Tables& tables = *new Tables;

// Of the module that NVBit hears of in this thread.
thread_local CUcontext loading_in = nullptr;
thread_local CUmodule loading = nullptr;

}  // namespace

ModuleEvent::ModuleEvent(uint32_t what, const void* event) {
    const auto& module = *static_cast<const Event*>(event);
    if (what == kModuleUnloading) tables.unload(module.context, module.module);
    if (what != kModuleLoaded && what != kFunctionLoaded) return;
    loading_in = module.context;
    loading = module.module;
}

ModuleEvent::~ModuleEvent() { loading_in = nullptr; }

void forget_tables(CUcontext context) { tables.forget(context); }

}  // namespace snoopie

// NVBit's table[function]. All of its look-ups come here, so it does no more than they need.
Function*& nvbits_function(snoopie::Table* table, const CUfunction& function) asm(
    "_ZNSt8__detail9_Map_baseIP9CUfunc_stSt4pairIKS2_P8FunctionESaIS7_ENS_10_Select1stESt8equal_toIS2_ESt4hashIS2_"
    "ENS_18_Mod_range_hashingENS_20_Default_ranged_hashENS_20_Prime_rehash_policyENS_17_Hashtable_traitsILb0ELb0ELb1EEELb1EEixERS4_");

Function*& nvbits_function(snoopie::Table* table, const CUfunction& function) {
    const auto [entry, is_new] = table->try_emplace(function, nullptr);
    if (is_new && snoopie::loading_in) snoopie::tables.came(snoopie::loading_in, snoopie::loading, table, function);
    return entry->second;
}
