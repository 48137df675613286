#include "stacks/stack_table.h"

#include <algorithm>
#include <array>

#include "stacks/return_probes.h"
#include "stacks/unwinder.h"

namespace snoopie {

namespace {

constexpr size_t kMostStacks = 1 << 22;  // rows of the table

std::atomic<uint64_t> last_serial{0};

bool is_driver(const LoadedModule& module) { return module.name().rfind("libcuda.so", 0) == 0; }

// The program itself, where the interpreter is in a library.
bool is_interpreter(const LoadedModule& module) { return module.name().rfind("python", 0) == 0; }

bool stays(uint64_t pc) { return LoadedModules::of_process().find(pc) != nullptr; }

std::string key_of(const LoadedModule& module) { return module.path + '\n' + module.build_id; }

}  // namespace

// What one thread keeps.
struct StackTable::Thread {
    static constexpr size_t kKnown = 256;  // a power of 2

    struct Known {
        std::vector<uint64_t> addresses;
        std::vector<uint64_t> python;  // identities of the frames
        uint32_t stack = 0;

        bool is(const Walk& walk, const PythonFrame* frames, size_t count) const {
            if (python.size() != count || addresses != walk.addresses) return false;
            for (size_t i = 0; i < count; ++i)
                if (python[i] != frames[i].identity) return false;
            return true;
        }
    };

    bool busy = false;
    uint64_t serial = 0;  // of the table that the stacks are of
    unsigned long long unloaded = 0;
    Unwinder unwinder{stays};
    std::array<PythonFrame, PythonFrames::kMostFrames> python;
    std::array<Known, kKnown> known;

    void forget() {
        unwinder.forget();
        known.fill({});
    }
};

// Frees it at the thread's end. Calls that still come then find none, and go without.
struct StackTable::ThreadHolder {
    Thread* thread = nullptr;
    bool ended = false;
    ~ThreadHolder() {
        delete thread;
        thread = nullptr;
        ended = true;
    }
};

StackTable::Thread* StackTable::of_this_thread() {
    static thread_local ThreadHolder holder;
    if (!holder.thread && !holder.ended) holder.thread = new Thread;
    return holder.thread;
}

StackTable::StackTable(TraceWriter* writer, const void* own, Notify notify)
    : writer_(writer), notify_(std::move(notify)), serial_(++last_serial), loaded_(LoadedModules::of_process()) {
    leave_out(own);
    const std::unique_lock lock(mutex_);
    find_python();
}

void StackTable::leave_out(const void* code) {
    if (code) own_.push_back(reinterpret_cast<uint64_t>(code));
}

bool StackTable::is_own(const LoadedModule& module) const {
    return std::any_of(own_.begin(), own_.end(), [&](uint64_t code) { return module.holds(code); });
}

__attribute__((noinline)) uint32_t StackTable::here() {
    const FrameRegisters caller = SNOOPIE_CALLER;
    Thread* const mine = of_this_thread();
    // A signal may have interrupted this very function.
    if (!mine || mine->busy) return 0;
    struct Busy {
        bool* flag;
        explicit Busy(bool* f) : flag(f) { *flag = true; }
        ~Busy() { *flag = false; }
    } busy(&mine->busy);

    const unsigned long long unloaded = LoadedModules::changes().unloaded;
    if (mine->serial != serial_ || mine->unloaded != unloaded) {
        mine->forget();
        mine->serial = serial_;
        mine->unloaded = unloaded;
    }
    const Walk& walk = mine->unwinder.unwind(caller);
    const PythonFrames* const reader = python();
    PythonFrame* const frames = mine->python.data();
    size_t count = reader ? reader->read(frames) : 0;
    uint64_t hash = walk.hash;
    for (size_t i = 0; i < count; ++i) hash = (hash ^ frames[i].identity) * 0x9E3779B97F4A7C15u;
    Thread::Known& known = mine->known[(hash ^ hash >> 32) % Thread::kKnown];
    if (known.is(walk, frames, count)) return known.stack;

    const std::unique_lock lock(mutex_);
    find_python();
    if (python() != reader) count = python()->read(frames);
    known.stack = intern(walk.addresses, frames, count);
    known.addresses = walk.addresses;
    known.python.clear();
    for (size_t i = 0; i < count; ++i) known.python.push_back(frames[i].identity);
    return known.stack;
}

// The interpreter may come later than the first stack, in a program that embeds it.
void StackTable::find_python() {
    if (python() || python_refused_) return;
    const LoadedModules::Changes now = LoadedModules::changes();
    if (now == looked_for_python_) return;
    looked_for_python_ = now;
    for (const LoadedModules::Module& module : loaded_.all()) {
        if (!module->python_runtime) continue;
        std::string why;
        python_owner_ = PythonFrames::of(*module, &why);
        python_refused_ = !python_owner_;
        if (python_refused_) notify_(why);
        python_.store(python_owner_.get(), std::memory_order_release);
        return;
    }
}

uint32_t StackTable::intern(std::vector<uint64_t> addresses, const PythonFrame* python_frames, size_t python_count) {
    const bool caught = !addresses.empty() && catches_returns(addresses.back());
    if (caught) addresses.pop_back();
    if (caught && !returns_are_caught_) {
        returns_are_caught_ = true;
        notify_("another program, such as snoopie watch or bpftrace, traces the returns of functions of this one: call stacks end there");
    }
    const PythonFrames* const reader = python_count ? python() : nullptr;
    std::vector<uint32_t> frames;  // innermost first
    size_t next_python = 0;
    size_t behind_interpreter = 0;
    const auto add_run = [&] {
        while (next_python < python_count) {
            const PythonFrame& frame = python_frames[next_python++];
            frames.push_back(python_frame(frame));
            if (frame.entered) break;
        }
    };
    bool in_driver = true;
    for (const uint64_t address : addresses) {
        // A return address may be the next function's: the call lies before it.
        const LoadedModules::Module module = loaded_.find(address - 1);
        if (module && is_own(*module)) continue;
        in_driver = in_driver && module && is_driver(*module);
        if (in_driver) continue;
        if (reader && module && (module->begin == reader->module().begin || is_interpreter(*module))) {
            if (reader->evaluates(address)) add_run();
            behind_interpreter = frames.size();
        } else {
            frames.push_back(native_frame(module, address));
        }
    }
    // Python frames for which no run of the interpreter was seen: the stack was too deep, or its code is not where it is known to be.
    std::vector<uint32_t> rest;
    rest.swap(frames);
    while (next_python < python_count) add_run();
    rest.insert(rest.begin() + static_cast<std::ptrdiff_t>(std::min(behind_interpreter, rest.size())), frames.begin(), frames.end());
    if (rest.empty() && !addresses.empty() && !caught && !ends_in_driver_) {
        ends_in_driver_ = true;
        notify_("call stacks end inside the CUDA driver, which has no unwind information: the program's own frames are unknown");
    }
    uint32_t stack = 0;
    for (auto frame = rest.rbegin(); frame != rest.rend(); ++frame) stack = child(*frame, stack);
    return stack;
}

uint32_t StackTable::common(const std::vector<uint32_t>& stacks) {
    const std::unique_lock lock(mutex_);
    uint32_t shared = stacks.empty() ? 0 : stacks.front();
    for (uint32_t other : stacks)
        // A caller has a lower number than what it calls.
        while (shared != other) (shared > other ? shared : other) = callers_[std::max(shared, other) - 1];
    return shared;
}

uint32_t StackTable::child(uint32_t frame, uint32_t caller) {
    const uint64_t key = static_cast<uint64_t>(caller) << 32 | frame;
    if (stacks_.size() >= kMostStacks) {
        const auto found = stacks_.find(key);
        if (found != stacks_.end()) return found->second;
        if (!full_) notify_("the program has more than " + std::to_string(kMostStacks) + " distinct call stacks: new ones are truncated");
        full_ = true;
        return caller;
    }
    const auto [slot, is_new] = stacks_.try_emplace(key, static_cast<uint32_t>(stacks_.size() + 1));
    if (is_new) {
        callers_.push_back(caller);
        writer_->append(StackRow{slot->second, frame, caller});
    }
    return slot->second;
}

uint32_t StackTable::module_id(const LoadedModule& module) {
    const auto [slot, is_new] = modules_.try_emplace(key_of(module), static_cast<uint32_t>(modules_.size() + 1));
    if (is_new) writer_->append(ModuleRow{slot->second, writer_->intern(module.path), writer_->intern(module.build_id)});
    return slot->second;
}

uint32_t StackTable::new_frame(uint32_t module, uint64_t address) {
    writer_->append(FrameRow{++last_frame_, module, address});
    return last_frame_;
}

uint32_t StackTable::native_frame(const LoadedModules::Module& module, uint64_t pc) {
    const uint32_t id = module ? module_id(*module) : 0;
    const uint64_t address = pc - 1 - (module ? module->bias : 0);
    uint32_t& frame = native_frames_[{id, address}];
    if (frame == 0) {
        frame = new_frame(id, address);
        if (module) natives_.push_back({frame, key_of(*module), address});
    }
    return frame;
}

uint32_t StackTable::python_frame(const PythonFrame& frame) {
    uint32_t& known = python_frames_[frame.identity];
    if (known) return known;
    const PythonPlace place = python()->place(frame);
    const uint32_t function = writer_->intern(place.function);
    const uint32_t file = writer_->intern(place.file);
    // Other instructions of the line, and the same function made anew, are one frame to a reader.
    uint32_t& same = python_places_[{{function, file}, place.line}];
    if (same == 0) {
        same = new_frame(0, 0);
        writer_->append(SymbolRow{same, 0, function, file, place.line, writer_->intern(source_.statement(place.file, place.line))});
    }
    return known = same;
}

void StackTable::write_symbols(std::chrono::milliseconds limit, void (*on_thread)()) {
    const std::unique_lock lock(mutex_);
    // Where the modules are now; of those that are not loaded any more, nothing can be found.
    std::map<std::string, LoadedModules::Module> modules;
    for (const LoadedModules::Module& module : loaded_.all()) modules[key_of(*module)] = module;
    std::vector<CodeAddress> addresses;
    for (const Native& native : natives_) {
        const auto found = modules.find(native.module);
        addresses.push_back(found == modules.end() ? CodeAddress()
                                                   : CodeAddress{found->second->bias + native.address, found->second->path});
    }
    bool whole = true;
    const std::vector<Symbols> found = symbolize(std::move(addresses), limit, on_thread, &whole);
    if (!whole)
        notify_("resolving call stacks took longer than " + std::to_string(limit.count()) +
                " ms: some frames show an address in their file instead of a function and a line");
    for (size_t i = 0; i < found.size(); ++i) {
        u1 level = 0;
        for (const Symbol& symbol : found[i])
            writer_->append(SymbolRow{natives_[i].frame, level++, writer_->intern(symbol.function), writer_->intern(symbol.file),
                                      symbol.line, writer_->intern(symbol.code)});
    }
}

}  // namespace snoopie
