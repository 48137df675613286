// The files that this process's code is loaded from, now.
//
// Nothing here calls dlsym, dladdr or dlopen: these take the loader's lock, which another thread may hold while it runs a library's
// constructors and waits for the driver, whose lock the calling thread may hold.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace snoopie {

struct LoadedModule {
    std::string path;
    std::string build_id;  // hexadecimal, "" = none
    uint64_t bias = 0;     // address in memory − address in the file
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t python_runtime = 0;  // where it has _PyRuntime, 0 = it is not an interpreter
    uint64_t dynamic = 0;         // address of its dynamic section

    bool holds(uint64_t address) const { return begin <= address && address < end; }
    // The file's name without folders.
    std::string name() const { return path.substr(path.rfind('/') + 1); }
};

struct LoadedSymbol {
    uint64_t address = 0;
    uint64_t size = 0;
};

// An exported symbol of a module that stays loaded; address 0 where it has none of that name.
LoadedSymbol find_symbol(const LoadedModule& module, const char* name);

// Safe to call from any thread.
class LoadedModules {
  public:
    struct Changes {
        unsigned long long loaded = 0;
        unsigned long long unloaded = 0;
        bool operator==(const Changes& other) const { return loaded == other.loaded && unloaded == other.unloaded; }
    };
    // How many modules were loaded and unloaded since the process began: cheap, to be asked for often.
    static Changes changes();

    using Module = std::shared_ptr<const LoadedModule>;
    // The module with this address in it, null if there is none.
    Module find(uint64_t address);
    std::vector<Module> all();

    // The one of this process.
    static LoadedModules& of_process();

  private:
    void refresh();

    std::mutex mutex_;
    bool read_ = false;
    Changes read_at_;
    std::vector<Module> modules_;  // by address
};

}  // namespace snoopie
