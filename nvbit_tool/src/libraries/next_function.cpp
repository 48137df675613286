#include "libraries/next_function.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

namespace snoopie {

namespace {

struct Object {
    std::string path;
    bool holds_caller;
};

bool holds(const dl_phdr_info& info, const void* address) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const ElfW(Phdr) & part = info.dlpi_phdr[i];
        const uintptr_t offset = reinterpret_cast<uintptr_t>(address) - info.dlpi_addr - part.p_vaddr;
        if (part.p_type == PT_LOAD && offset < part.p_memsz) return true;
    }
    return false;
}

// All that are loaded but the program itself, which has no path here and comes before this library in the global scope; the caller's first.
std::vector<Object> loaded_objects(const void* caller) {
    struct Search {
        const void* caller;
        std::vector<Object> objects;
    } search{caller, {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* context) {
            auto* found = static_cast<Search*>(context);
            if (!*info->dlpi_name) return 0;
            const Object object{info->dlpi_name, holds(*info, found->caller)};
            found->objects.insert(object.holds_caller ? found->objects.begin() : found->objects.end(), object);
            return 0;
        },
        &search);
    return search.objects;
}

bool in_this_library(const void* function) {
    static const void* const base = [] {
        Dl_info self{};
        dladdr(reinterpret_cast<void*>(&next_function), &self);
        return self.dli_fbase;
    }();
    Dl_info info{};
    return dladdr(function, &info) && info.dli_fbase == base;
}

void* look_up(const char* name, const void* caller) {
    LookUp* const look = c_dlsym();
    if (void* next = look(RTLD_NEXT, name)) return next;
    for (const Object& object : loaded_objects(caller)) {
        void* handle = dlopen(object.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (!handle) continue;
        void* function = look(handle, name);
        // Not closed: the library stays as long as its function is remembered.
        if (function && !in_this_library(function)) return function;
        dlclose(handle);
    }
    return nullptr;
}

// Every glibc has it of the version with which it came to this kind of machine.
#ifdef __aarch64__
constexpr char kFirstGlibc[] = "GLIBC_2.17";
#else
constexpr char kFirstGlibc[] = "GLIBC_2.2.5";
#endif

// No static of the function: while the C library looks, what stands in for malloc may look something up itself.
template <typename Find>
LookUp* found_once(std::atomic<LookUp*>* known, Find find) {
    LookUp* found = *known;
    if (!found) *known = found = reinterpret_cast<LookUp*>(find());
    return found;
}

}  // namespace

LookUp* c_dlsym() {
    static std::atomic<LookUp*> known{nullptr};
    return found_once(&known, [] { return dlvsym(RTLD_NEXT, "dlsym", kFirstGlibc); });
}

LookUp* next_dlsym() {
    static std::atomic<LookUp*> known{nullptr};
    return found_once(&known, [] { return c_dlsym()(RTLD_NEXT, "dlsym"); });
}

void* next_function(const char* name, const void* caller) {
    // Never destroyed: programs end communicators while they end themselves.
    static auto& mutex = *new std::shared_mutex;
    static auto& known = *new std::map<std::pair<const char*, const void*>, void*>;
    const std::pair key{name, caller};
    {
        std::shared_lock lock(mutex);
        const auto found = known.find(key);
        if (found != known.end()) return found->second;
    }
    void* function = look_up(name, caller);
    if (function) {
        std::unique_lock lock(mutex);
        known[key] = function;
    }
    return function;
}

}  // namespace snoopie
