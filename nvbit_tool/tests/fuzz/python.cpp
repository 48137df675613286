// Python frames: an interpreter's structures as an input says, in memory that holds nothing else.
//
// A damaged interpreter is not what this is about: its pointers lead into its memory, as those of a real one do. They may lead anywhere in
// it, to each other in circles, and what they lead to may be anything.
#include "stacks/python_frames.h"

#include <elf.h>
#include <link.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "target.h"

using namespace snoopie;

namespace {

constexpr size_t kReach = 8192;  // pointers lead to places below this; what is read behind one of them is within the memory
// Behind a pointer: a member, which is below 4096, or a text of 4096 characters of 4 bytes.
constexpr size_t kMemory = kReach + 4096 + 4 * 4096 + 64;

struct Memory {
    alignas(16) std::array<uint8_t, kMemory> bytes;
    uint64_t at(uint64_t offset) const { return reinterpret_cast<uint64_t>(bytes.data()) + offset % kReach / 8 * 8; }
};

Memory memory;
alignas(16) std::array<uint8_t, 1024> runtime;
unsigned long version;
uint64_t thread_state;

// The types of code and of text lie among the rest, where pointers may lead, too.
const uint8_t* type_of_code() { return &memory.bytes[kReach - 64]; }
const uint8_t* type_of_text() { return &memory.bytes[kReach - 32]; }

void* this_thread() { return reinterpret_cast<void*>(thread_state); }
int yes() { return 1; }
int no() { return 0; }
int line_of(void*, int offset) { return offset % 7 - 1; }

// The exported symbols of an interpreter, as a loader finds them.
struct Exports {
    std::vector<ElfW(Sym)> symbols{1};
    std::string strings = std::string(1, '\0');
    std::vector<uint32_t> hash;
    std::vector<ElfW(Dyn)> dynamic;

    void add(const char* name, const void* address) {
        ElfW(Sym) symbol{};
        symbol.st_name = static_cast<uint32_t>(strings.size());
        symbol.st_value = reinterpret_cast<uint64_t>(address);
        symbol.st_shndx = 1;
        symbols.push_back(symbol);
        strings += name;
        strings += '\0';
    }
    void end() {
        hash = {1, 1, 1, 0, ~0u, ~0u, 1};  // one bucket, a filter that lets all pass
        for (size_t i = 1; i < symbols.size(); ++i) {
            uint32_t sum = 5381;
            for (const char* c = &strings[symbols[i].st_name]; *c; ++c) sum = sum * 33 + static_cast<uint8_t>(*c);
            hash.push_back(i + 1 == symbols.size() ? sum | 1 : sum & ~1u);
        }
        const auto entry = [&](ElfW(Sxword) tag, const void* address) {
            ElfW(Dyn) one{};
            one.d_tag = tag;
            one.d_un.d_ptr = reinterpret_cast<uint64_t>(address);
            dynamic.push_back(one);
        };
        entry(DT_SYMTAB, symbols.data());
        entry(DT_STRTAB, strings.data());
        entry(DT_GNU_HASH, hash.data());
        entry(DT_NULL, nullptr);
    }
};

const Exports& exports() {
    static const Exports all = [] {
        Exports made;
        made.add("Py_Version", &version);
        made.add("_PyEval_EvalFrameDefault", reinterpret_cast<const void*>(yes));
        made.add("PyCode_Type", type_of_code());
        made.add("PyUnicode_Type", type_of_text());
        made.add("PyGILState_GetThisThreadState", reinterpret_cast<const void*>(this_thread));
        made.add("Py_IsInitialized", reinterpret_cast<const void*>(yes));
        made.add("Py_IsFinalizing", reinterpret_cast<const void*>(no));
        made.add("PyCode_Addr2Line", reinterpret_cast<const void*>(line_of));
        made.end();
        return made;
    }();
    return all;
}

bool leads_anywhere(uint64_t word) { return word >= 4096 && word < uint64_t{1} << 56; }

// The words of an input: types by number, and what could be a pointer made to be one into the memory.
uint64_t as_word(uint64_t word) {
    if (word == 0xC0DE) return reinterpret_cast<uint64_t>(type_of_code());
    if (word == 0x7E87) return reinterpret_cast<uint64_t>(type_of_text());
    return leads_anywhere(word & ~uint64_t{7}) ? memory.at(word) : word;
}

}  // namespace

// A byte for the version, one for where the thread's state is, 64 words of the table of members, and then the memory.
FUZZ_TARGET(python) {
    if (input.size() < 2) return;
    const unsigned minor = 10 + static_cast<uint8_t>(input[0]) % 6;
    const uint64_t state = static_cast<uint8_t>(input[1]) * 8u;
    version = 3ul << 24 | minor << 16;
    input.remove_prefix(2);
    const auto word = [&](size_t i) {
        uint64_t value = 0;
        if (8 * i < input.size()) std::memcpy(&value, input.data() + 8 * i, std::min<size_t>(8, input.size() - 8 * i));
        return value;
    };
    size_t at = 0;
    runtime.fill(0);
    std::memcpy(runtime.data(), "xdebugpy", 8);
    std::memcpy(runtime.data() + 8, &version, sizeof version);
    if (minor >= 13)
        for (size_t place = 16; place + 8 <= runtime.size() && at < 124; place += 8, ++at) {
            // Members lie at multiples of their size.
            const uint64_t offset = word(at) % 8192 / 8 * 8;
            std::memcpy(runtime.data() + place, &offset, sizeof offset);
        }
    memory.bytes.fill(0);
    for (size_t place = 0; place + 8 <= kReach && 8 * at < input.size(); place += 8, ++at) {
        const uint64_t value = as_word(word(at));
        std::memcpy(memory.bytes.data() + place, &value, sizeof value);
    }
    thread_state = memory.at(state);

    LoadedModule module;
    module.path = "/usr/bin/python3";
    module.begin = 1;
    module.end = ~uint64_t{0};
    module.python_runtime = reinterpret_cast<uint64_t>(runtime.data());
    module.dynamic = reinterpret_cast<uint64_t>(exports().dynamic.data());
    std::string why;
    const auto python = PythonFrames::of(module, &why);
    fuzz::require(python || !why.empty(), "an interpreter is refused for a reason");
    if (!python) return;
    PythonFrame frames[PythonFrames::kMostFrames];
    const size_t count = python->read(frames);
    fuzz::require(count <= PythonFrames::kMostFrames, "there is room for all frames");
    fuzz::require(count == 0 || frames[count - 1].entered, "the last frame was called by C");
    for (size_t i = 0; i < count; ++i) {
        const PythonPlace place = python->place(frames[i]);
        fuzz::require(place.function.size() <= 4 * 4096 && place.file.size() <= 4 * 4096, "names are short");
    }
}
