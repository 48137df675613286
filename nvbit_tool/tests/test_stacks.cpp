// Call stacks: the walk beside libgcc's, stacks in the trace, functions and lines, source text. Line numbers are taken where they are.
#include <alloca.h>
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>
#include <unwind.h>

#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <thread>

#include "check.h"
#include "stacks/frame_rule.h"
#include "stacks/return_probes.h"
#include "stacks/source_text.h"
#include "stacks/stack_table.h"
#include "stacks/unwinder.h"
#include "trace_file.h"

using namespace snoopie;
using test::TemporaryFile;

#define NOINLINE __attribute__((noinline))
#define INLINE __attribute__((always_inline)) inline
// Keeps a call from becoming a jump.
#define AFTER_CALL asm volatile("" ::: "memory")

namespace {

// --- The walk ---

struct Oracle {
    uint64_t first;
    std::vector<uint64_t> addresses;
};

_Unwind_Reason_Code note(_Unwind_Context* context, void* data) {
    Oracle& oracle = *static_cast<Oracle*>(data);
    int interrupted = 0;
    const uint64_t pc = _Unwind_GetIPInfo(context, &interrupted);
    if (pc == 0) return _URC_END_OF_STACK;
    if (oracle.addresses.empty() && pc != oracle.first) return _URC_NO_REASON;
    if (oracle.addresses.size() < Unwinder::kMostFrames) oracle.addresses.push_back(pc + (interrupted ? 1 : 0));
    return _URC_NO_REASON;
}

int walks = 0;
size_t deepest = 0;

// Whether the walk is libgcc's, from here outward.
NOINLINE void compare() {
    static thread_local std::unique_ptr<Unwinder> unwinder;
    if (!unwinder) unwinder = std::make_unique<Unwinder>([](uint64_t) { return true; });
    const FrameRegisters caller = SNOOPIE_CALLER;
    const std::vector<uint64_t> addresses = unwinder->unwind(caller).addresses;
    Oracle oracle{caller.pc, {}};
    _Unwind_Backtrace(note, &oracle);
    CHECK(addresses == oracle.addresses);
    ++walks;
    deepest = std::max(deepest, addresses.size());
}

NOINLINE void one(int) {
    compare();
    AFTER_CALL;
}

NOINLINE void other(int n) {
    volatile char frame[200];
    frame[n] = 1;
    one(frame[n]);
    AFTER_CALL;
}

// A frame whose size is not known before, filled with what other frames left there: no word of it may be taken for one of them.
NOINLINE void variable(int n, void (*call)(int)) {
    volatile char* room = static_cast<volatile char*>(alloca(static_cast<size_t>(n) + 16));
    room[0] = 1;
    call(n);
    AFTER_CALL;
}

NOINLINE void recurse(int n) {
    if (n == 0)
        compare();
    else if (n % 3 == 0)
        variable(n - 1, recurse);
    else
        recurse(n - 1);
    AFTER_CALL;
}

NOINLINE void aligned(int n) {
    alignas(64) volatile char room[128];
    room[n] = static_cast<char>(n);
    variable(room[n], one);
    AFTER_CALL;
}

NOINLINE void thrown(int n) {
    try {
        if (n % 2) throw n;
        one(n);
    } catch (int) {
        compare();
    }
}

void every_kind(int rounds) {
    for (int i = 0; i < rounds; ++i) {
        one(i);
        other(i % 200);
        variable(i, one);
        variable(i, other);
        // The same depth of the stack, reached in another way.
        variable(160 - i % 160, [](int n) { variable(n, one); });
        aligned(i % 128);
        recurse(i % 40);
        thrown(i);
    }
}

void walk() {
    every_kind(200);
    recurse(100);
    recurse(1000);
    CHECK_EQ(deepest, Unwinder::kMostFrames);
    CHECK(walks > 1600);
}

void walk_on_threads() {
    std::vector<std::thread> threads;
    const int failed = test::failed;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([] {
            for (int i = 0; i < 200; ++i) recurse(i % 50);
        });
    for (std::thread& thread : threads) thread.join();
    CHECK_EQ(test::failed, failed);
}

volatile sig_atomic_t signals = 0;

void on_signal(int) {
    compare();
    signals = signals + 1;
}

NOINLINE void signalled(int n) {
    raise(SIGUSR1);
    variable(n, [](int) { raise(SIGUSR1); });
    AFTER_CALL;
}

void walk_in_signals() {
    std::vector<char> room(1 << 16);
    stack_t alternate{};
    alternate.ss_sp = room.data();
    alternate.ss_size = room.size();
    stack_t before{};
    sigaltstack(&alternate, &before);
    struct sigaction action{};
    action.sa_handler = on_signal;
    for (const int flags : {0, SA_ONSTACK}) {
        action.sa_flags = flags;
        sigaction(SIGUSR1, &action, nullptr);
        for (int i = 0; i < 20; ++i) signalled(i);
    }
    CHECK_EQ(int{signals}, 80);
    signal(SIGUSR1, SIG_DFL);
    sigaltstack(&before, nullptr);
}

// --- Stacks in a trace ---

struct Frame {
    std::string module;
    uint64_t address = 0;
    std::vector<Symbol> symbols;

    std::string function() const { return symbols.empty() ? "" : symbols[0].function; }
};

// The tables of stacks, read back.
class Written {
  public:
    explicit Written(const std::string& path) {
        std::map<uint32_t, std::string> strings;
        strings[0] = "";
        for (const test::Block& block : test::read(path)) {
            size_t at = 0;
            const auto column = [&](auto type) {
                std::vector<uint64_t> values;
                for (uint32_t row = 0; row < block.rows; ++row, at += sizeof type)
                    values.push_back(test::get<decltype(type)>(block.content, at));
                return values;
            };
            if (block.table == static_cast<uint32_t>(Table::strings)) {
                const auto ids = column(u4{}), lengths = column(u4{});
                for (uint32_t row = 0; row < block.rows; at += lengths[row++]) strings[ids[row]] = block.content.substr(at, lengths[row]);
            } else if (block.table == static_cast<uint32_t>(Table::modules)) {
                const auto ids = column(u4{}), paths = column(u4{});
                for (uint32_t row = 0; row < block.rows; ++row) modules[ids[row]] = strings[paths[row]];
            } else if (block.table == static_cast<uint32_t>(Table::frames)) {
                const auto ids = column(u4{}), of = column(u4{}), addresses = column(u8{});
                for (uint32_t row = 0; row < block.rows; ++row) frames[ids[row]] = {modules[of[row]], addresses[row], {}};
            } else if (block.table == static_cast<uint32_t>(Table::stacks)) {
                const auto ids = column(u4{}), of = column(u4{}), callers = column(u4{});
                for (uint32_t row = 0; row < block.rows; ++row) stacks[ids[row]] = {of[row], callers[row]};
            } else if (block.table == static_cast<uint32_t>(Table::symbols)) {
                const auto of = column(u4{}), levels = column(u1{}), functions = column(u4{}), files = column(u4{}), lines = column(u4{}),
                           codes = column(u4{});
                for (uint32_t row = 0; row < block.rows; ++row) {
                    CHECK_EQ(frames[of[row]].symbols.size(), levels[row]);
                    frames[of[row]].symbols.push_back(
                        {strings[functions[row]], strings[files[row]], static_cast<uint32_t>(lines[row]), strings[codes[row]]});
                }
            } else if (block.table == static_cast<uint32_t>(Table::notices)) {
                notices += block.content;
            }
        }
    }

    std::vector<Frame> stack(uint32_t id) {
        std::vector<Frame> stack;
        for (; id != 0; id = static_cast<uint32_t>(stacks.at(id).second)) stack.push_back(frames.at(stacks.at(id).first));
        return stack;
    }

    std::map<uint64_t, std::string> modules;
    std::map<uint64_t, Frame> frames;
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> stacks;
    std::string notices;
};

// A table that writes to a file, and at its end reads it back.
class Recording {
  public:
    Recording()
        : writer_(file_.fd(), "{}", {}),
          table(&writer_, nullptr, [this](const std::string& text) { writer_.append(NoticeRow{0, text}); }) {}
    Written end(std::chrono::milliseconds limit = std::chrono::seconds(60)) {
        table.write_symbols(limit, nullptr);
        writer_.finish("{}");
        return Written(file_.path());
    }

  private:
    TemporaryFile file_;
    TraceWriter writer_;

  public:
    StackTable table;
};

std::string name(const std::string& path) { return path.substr(path.rfind('/') + 1); }
std::string folder() {
    char path[4096];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
    const std::string self(path, static_cast<size_t>(size));
    return self.substr(0, self.rfind('/'));
}

constexpr int kInnermostLine = __LINE__ + 1;
INLINE uint32_t innermost(StackTable& table) { return table.here(); }
constexpr int kMiddleLine = __LINE__ + 2;
INLINE uint32_t middle(StackTable& table) {
    const uint32_t id = innermost(table);
    AFTER_CALL;
    return id;
}
constexpr int kOuterLine = __LINE__ + 2;
NOINLINE uint32_t outer(StackTable& table) {
    const uint32_t id = middle(table);
    AFTER_CALL;
    return id;
}

void functions_and_lines() {
    Recording recording;
    uint32_t first = 0;
    for (int i = 0; i < 3; ++i) {
        const uint32_t id = outer(recording.table);
        CHECK(first == 0 || id == first);
        first = id;
    }
    const int line = __LINE__ + 1;
    const uint32_t second = outer(recording.table);
    CHECK(first != 0 && second != 0 && second != first);
    Written written = recording.end();
    for (const uint32_t id : {first, second}) {
        const std::vector<Frame> stack = written.stack(id);
        CHECK(stack.size() >= 3);
        CHECK_EQ(name(stack[0].module), "test_stacks");
        CHECK_EQ(stack[0].symbols.size(), 3u);
        if (stack[0].symbols.size() != 3) return;
        const std::vector<Symbol>& symbols = stack[0].symbols;
        CHECK(symbols[0].function.find("innermost") != std::string::npos);
        CHECK(symbols[1].function.find("middle") != std::string::npos);
        CHECK(symbols[2].function.find("outer(snoopie::StackTable&)") != std::string::npos);
        CHECK_EQ(symbols[0].line, uint32_t{kInnermostLine});
        CHECK_EQ(symbols[1].line, uint32_t{kMiddleLine});
        CHECK_EQ(symbols[2].line, uint32_t{kOuterLine});
        CHECK_EQ(name(symbols[0].file), "test_stacks.cpp");
        CHECK_EQ(symbols[0].code, "INLINE uint32_t innermost(StackTable& table) { return table.here(); }");
        CHECK_EQ(symbols[1].code, "const uint32_t id = innermost(table);");
        CHECK(stack[1].function().find("functions_and_lines") != std::string::npos);
        CHECK(stack[2].function() == "main");
    }
    CHECK_EQ(written.stack(second)[1].symbols[0].line, static_cast<uint32_t>(line));
    // The callers' rows are shared: two places in this function, two frames that they call.
    CHECK(written.stacks.at(written.stacks.at(first).second).second == written.stacks.at(written.stacks.at(second).second).second);
}

// The number of different stacks by recursion, alternating with others at the same depth.
NOINLINE uint32_t descend(StackTable& table, int depth) {
    const uint32_t id = depth == 0 ? table.here() : descend(table, depth - 1);
    AFTER_CALL;
    return id;
}

size_t count_of(const std::vector<Frame>& stack, const std::string& function) {
    size_t count = 0;
    for (const Frame& frame : stack)
        for (const Symbol& symbol : frame.symbols) count += symbol.function.find(function) != std::string::npos;
    return count;
}

void recursion() {
    Recording recording;
    std::map<int, uint32_t> ids;
    for (int round = 0; round < 3; ++round)
        for (const int depth : {0, 1, 5, 100, 1000}) {
            uint32_t& known = ids[depth];
            const uint32_t id = descend(recording.table, depth);
            CHECK(round == 0 || id == known);
            known = id;
        }
    Written written = recording.end();
    for (const int depth : {0, 1, 5, 100}) CHECK_EQ(count_of(written.stack(ids[depth]), "descend"), static_cast<size_t>(depth) + 1);
    CHECK_EQ(written.stack(ids[1000]).size(), Unwinder::kMostFrames);
}

NOINLINE uint32_t elsewhere(StackTable& table) {
    const uint32_t id = outer(table);
    AFTER_CALL;
    return id;
}

void common() {
    Recording recording;
    StackTable& table = recording.table;
    const uint32_t near = outer(table), far = elsewhere(table);
    const uint32_t shared = table.common({near, far});
    CHECK(near != far && shared != 0 && shared != near && shared != far);
    CHECK_EQ(table.common({far, near, far}), shared);
    CHECK_EQ(table.common({near}), near);
    CHECK_EQ(table.common({shared, near}), shared);
    CHECK_EQ(table.common({near, 0}), 0u);
    CHECK_EQ(table.common({}), 0u);
    // What calls this function, which calls from two places.
    Written written = recording.end();
    CHECK_EQ(written.stack(shared).size() + 2, written.stack(near).size());
    CHECK_EQ(written.stack(shared).size() + 3, written.stack(far).size());
}

void threads() {
    Recording recording;
    std::vector<std::thread> threads;
    std::vector<uint32_t> ids(8);
    for (size_t t = 0; t < ids.size(); ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 500; ++i) {
                descend(recording.table, i % 7);
                ids[t] = descend(recording.table, 3);
            }
        });
    for (std::thread& thread : threads) thread.join();
    Written written = recording.end();
    for (const uint32_t id : ids) {
        CHECK_EQ(id, ids[0]);
        CHECK_EQ(count_of(written.stack(id), "descend"), 4u);
        CHECK(name(written.stack(id).back().module).rfind("libc", 0) == 0);  // where the system begins a thread
    }
}

// --- Libraries ---

using Callback = unsigned (*)(void*);
using Entry = unsigned (*)(Callback, void*);

unsigned call_back(void* table) {
    const unsigned id = static_cast<StackTable*>(table)->here();
    AFTER_CALL;
    return id;
}

class Library {
  public:
    explicit Library(const std::string& file) : handle_(dlopen((folder() + "/stacks/" + file).c_str(), RTLD_NOW)) {
        if (!handle_) std::printf("%s\n", dlerror());
    }
    ~Library() { dlclose(handle_); }
    Entry entry(const char* symbol) const { return reinterpret_cast<Entry>(dlsym(handle_, symbol)); }

  private:
    void* handle_;
};

void stripped() {
    Recording recording;
    const Library library("libstripped.so");
    const uint32_t id = library.entry("stripped")(call_back, &recording.table);
    Written written = recording.end();
    const std::vector<Frame> stack = written.stack(id);
    CHECK(stack.size() > 4);
    CHECK(stack[0].function().find("call_back") != std::string::npos);
    CHECK_EQ(name(stack[1].module), "libstripped.so");
    CHECK(stack[1].address > 0 && stack[1].address < 0x10000);
    CHECK_EQ(stack[1].symbols.size(), 0u);  // not the name of whatever function stands before it
    CHECK_EQ(stack[2].function(), "stripped");
    CHECK_EQ(stack[2].symbols[0].line, 0u);
    CHECK(stack[3].function().find("stripped()") != std::string::npos);
}

// A library is unloaded and another takes its place; then the first comes again.
void unloaded() {
    Recording recording;
    std::vector<uint32_t> ids;
    std::vector<Entry> entries;
    for (const char* which : {"first", "second", "first", "second"}) {
        const Library library(std::string("lib") + which + ".so");
        entries.push_back(library.entry(which));
        for (volatile int i = 0; i < 2; i = i + 1) ids.push_back(entries.back()(call_back, &recording.table));
    }
    std::printf("stacks: a library came to lie where another was: %s\n", entries[0] == entries[1] ? "yes" : "no");
    for (size_t i = 0; i < ids.size(); ++i) CHECK_EQ(ids[i], ids[i / 2 % 2 * 2]);
    CHECK(ids[0] != ids[2]);
    const Library loaded("libsecond.so");
    Written written = recording.end();
    for (const size_t i : {0u, 1u}) {
        const std::vector<Frame> stack = written.stack(ids[2 * i]);
        CHECK_EQ(name(stack[1].module), i == 0 ? "libfirst.so" : "libsecond.so");
        CHECK_EQ(stack[2].function(), i == 0 ? "" : "second");
        CHECK_EQ(stack[2].symbols.empty() ? "" : name(stack[2].symbols[0].file), i == 0 ? "" : "library.cpp");
    }
}

// The collector is called by the driver, which a library calls: of these, only the library's frames remain.
void driver() {
    const TemporaryFile file;
    TraceWriter writer(file.fd(), "{}", {});
    StackTable table(&writer, reinterpret_cast<const void*>(&call_back), [](const std::string&) {});
    const Library cuda("libcuda.so.1");
    const Library application("libfirst.so");
    std::pair<StackTable*, Entry> through{&table, cuda.entry("driver")};
    const uint32_t id = application.entry("first")(
        [](void* data) {
            const auto& [stacks, entry] = *static_cast<std::pair<StackTable*, Entry>*>(data);
            const unsigned stack = entry(call_back, stacks);
            AFTER_CALL;
            return stack;
        },
        &through);
    writer.finish("{}");
    const std::vector<Frame> stack = Written(file.path()).stack(id);
    CHECK(stack.size() >= 3);
    CHECK_EQ(name(stack[0].module), "libfirst.so");
    CHECK_EQ(name(stack[1].module), "libfirst.so");
    CHECK(name(stack[2].module).rfind("libc.so", 0) == 0);
}

void given_up() {
    Recording recording;
    outer(recording.table);
    Written written = recording.end(std::chrono::milliseconds(0));
    CHECK(written.notices.find("show an address in their file") != std::string::npos);
    CHECK(!written.frames.empty() && !written.stacks.empty());
}

// --- Source text ---

void source_text() {
    const TemporaryFile file;
    const std::string python = file.path() + ".py";
    const std::string text =
        "  x = call(1, \"(\",  // (\n"
        "           2);\n"
        "if (x) {\n"
        "CHECK(cudaMalloc(&p,\n"
        "                 n))\n"
        "float* y =\n"
        "\n"
        "    make(';');\n"
        "f(\n1,\n2,\n3,\n4);\n"
        "last";
    std::ofstream(file.path()) << text;
    std::ofstream(python) << "a = f(1,  # (\n      [2,\n       3])\nb = 2\nc = \\\n  d\n# " + std::string(198, 'x') + "\xC3\xA9\n";
    SourceText source;
    CHECK_EQ(source.statement(file.path(), 1), "x = call(1, \"(\",  // ( 2);");
    CHECK_EQ(source.statement(file.path(), 2), "2);");
    CHECK_EQ(source.statement(file.path(), 3), "if (x) {");
    CHECK_EQ(source.statement(file.path(), 4), "CHECK(cudaMalloc(&p, n))");
    CHECK_EQ(source.statement(file.path(), 6), "float* y = make(';');");
    CHECK_EQ(source.statement(file.path(), 9), "f( 1, 2, 3,");
    CHECK_EQ(source.statement(file.path(), 14), "last");
    CHECK_EQ(source.statement(file.path(), 15), "");
    CHECK_EQ(source.statement(file.path(), 0), "");
    CHECK_EQ(source.statement(python, 1), "a = f(1,  # ( [2, 3])");
    CHECK_EQ(source.statement(python, 4), "b = 2");
    CHECK_EQ(source.statement(python, 5), "c = \\ d");
    // A character that does not fit whole is left out.
    CHECK_EQ(source.statement(python, 7), "# " + std::string(198, 'x'));
    for (const char* nothing : {"/nowhere/x.cpp", "/dev/zero", "/tmp", "", "<string>"}) CHECK_EQ(source.statement(nothing, 1), "");
    unlink(python.c_str());
}

// --- What it costs ---

NOINLINE double nanoseconds(StackTable& table, int depth, int repeats) {
    if (depth > 0) {
        const double result = nanoseconds(table, depth - 1, repeats);
        AFTER_CALL;
        return result;
    }
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) table.here();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / repeats;
}

void cost() {
    Recording recording;
    for (const int depth : {0, 20, 60, 200}) {
        nanoseconds(recording.table, depth, 10);
        std::printf("stacks: %d frames and more, repeated: %.0f ns\n", depth, nanoseconds(recording.table, depth, 20000));
    }
}

void caught_returns() {
    const auto in = [](uint64_t address, const std::string& text) {
        std::istringstream maps(text);
        return catches_returns(address, maps);
    };
    const std::string maps =
        "7ffe2437b000-7ffe2439d000 rw-p 00000000 00:00 0                          [stack]\n"
        "7fffffffe000-7ffffffff000 --xp 00000000 00:00 0                          [uprobes]\n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]";
    CHECK(in(0x7fffffffe000, maps));
    for (const uint64_t other : {0x7fffffffdfffu, 0x7ffffffff000u, 0x7ffe2437b000u, 0xffffffffff600000u}) CHECK(!in(other, maps));
    for (const char* odd : {"", " [uprobes]", "x-y [uprobes]", "7fffffffe000 [uprobes]"}) CHECK(!in(0x7fffffffe000, odd));
    CHECK(!catches_returns(0x7fffffffe000));
}

}  // namespace

int main() {
    caught_returns();
    walk();
    walk_on_threads();
    walk_in_signals();
    functions_and_lines();
    recursion();
    common();
    threads();
    stripped();
    unloaded();
    driver();
    given_up();
    source_text();
    cost();
    return test::summary("stacks");
}
