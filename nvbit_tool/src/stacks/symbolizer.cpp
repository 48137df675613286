#include "stacks/symbolizer.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/attempt.h"
#include "base/demangle.h"
#include "base/signals.h"
#include "stacks/source_text.h"

#if __has_include(<backtrace.h>)
#include <backtrace.h>
#else
#include <dlfcn.h>
#include <link.h>
#endif

namespace snoopie {

namespace {

constexpr size_t kMostLevels = 64;        // of functions inlined into one another
constexpr size_t kMostCharacters = 1000;  // of a name: those of templates have no end

std::string readable(const char* name) {
    if (!name) return "";
    std::string result = demangled(name);
    if (result.size() > kMostCharacters) result.replace(kMostCharacters, std::string::npos, "…");
    return result;
}

#if __has_include(<backtrace.h>)

// libbacktrace, which comes with GCC.
class Resolver {
  public:
    Resolver() : state_(backtrace_create_state(nullptr, 1, ignore, nullptr)) {}

    Symbols resolve(uint64_t address) {
        Symbols symbols;
        if (!state_) return symbols;
        backtrace_pcinfo(
            state_, address,
            [](void* data, uintptr_t, const char* file, int line, const char* function) {
                auto& found = *static_cast<Symbols*>(data);
                if (file || function)
                    found.push_back({readable(function), file ? file : "", line > 0 ? static_cast<uint32_t>(line) : 0, ""});
                return found.size() == kMostLevels ? 1 : 0;
            },
            ignore, &symbols);
        // Of a function of one file alone, debug information has no more than the bare name.
        if (!symbols.empty() && symbols.back().function.find('(') != std::string::npos) return symbols;
        std::string name;
        backtrace_syminfo(
            state_, address,
            [](void* data, uintptr_t, const char* symbol, uintptr_t, uintptr_t) { *static_cast<std::string*>(data) = readable(symbol); },
            ignore, &name);
        if (name.empty()) return symbols;
        if (symbols.empty()) symbols.emplace_back();
        symbols.back().function = name;
        return symbols;
    }

  private:
    static void ignore(void*, const char*, int) {}

    backtrace_state* const state_;
};

#else

// Exported functions alone.
class Resolver {
  public:
    Symbols resolve(uint64_t address) {
        Dl_info info{};
        void* extra = nullptr;
        if (!dladdr1(reinterpret_cast<void*>(address), &info, &extra, RTLD_DL_SYMENT) || !info.dli_sname || !extra) return {};
        // The nearest symbol before the address is not always the one that it is in.
        if (address - reinterpret_cast<uint64_t>(info.dli_saddr) >= static_cast<const ElfW(Sym)*>(extra)->st_size) return {};
        return {{readable(info.dli_sname), "", 0, ""}};
    }
};

#endif

// Shared with the thread, which may live longer than the one that waits for it.
struct Work {
    std::vector<CodeAddress> addresses;
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Symbols> results;
    bool given_up = false;
    bool ended = false;

    bool done() const { return results.size() == addresses.size(); }
};

void work(const std::shared_ptr<Work>& work, void (*on_thread)()) {
    if (on_thread) on_thread();
    Resolver resolver;
    SourceText source;
    for (const CodeAddress& code : work->addresses) {
        Symbols symbols = code.address ? resolver.resolve(code.address) : Symbols();
        for (Symbol& symbol : symbols) symbol.code = source.statement(symbol.file, symbol.line, code.module);
        const std::unique_lock lock(work->mutex);
        if (work->given_up) return;
        work->results.push_back(std::move(symbols));
    }
}

}  // namespace

std::vector<Symbols> symbolize(std::vector<CodeAddress> addresses, std::chrono::milliseconds limit, void (*on_thread)(), bool* whole) {
    const auto shared = std::make_shared<Work>();
    shared->addresses = std::move(addresses);
    const size_t count = shared->addresses.size();
    shared->ended = count == 0;
    if (count > 0) {
        // The application's signals are not for this thread.
        const BlockedSignals blocked(all_signals());
        try {
            std::thread([shared, on_thread] {
                attempt([&] { work(shared, on_thread); });
                const std::unique_lock lock(shared->mutex);
                shared->ended = true;
                shared->changed.notify_one();
            }).detach();
        } catch (const std::system_error&) {
            limit = limit.zero();
        }
    }
    std::unique_lock lock(shared->mutex);
    *whole = shared->changed.wait_for(lock, limit, [&] { return shared->ended; }) && shared->done();
    shared->given_up = true;
    std::vector<Symbols> results = std::move(shared->results);
    results.resize(count);
    return results;
}

}  // namespace snoopie
