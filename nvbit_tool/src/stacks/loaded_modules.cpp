#include "stacks/loaded_modules.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/hex.h"

namespace snoopie {

namespace {

std::string build_id(const uint8_t* notes, size_t size) {
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
        ElfW(Nhdr) note;
        std::memcpy(&note, notes + at, sizeof note);
        const size_t name = at + sizeof note;
        const size_t content = name + (note.n_namesz + size_t{3}) / 4 * 4;
        const size_t end = content + (note.n_descsz + size_t{3}) / 4 * 4;
        if (end > size || end < content) break;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0)
            return hex({reinterpret_cast<const char*>(notes + content), note.n_descsz});
        at = end;
    }
    return "";
}

std::string program_path() {
    char path[4096];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
    return size > 0 ? std::string(path, static_cast<size_t>(size)) : "";
}

// What a dynamic section says of the module's exported symbols.
struct Exports {
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    const uint32_t* hash = nullptr;  // DT_GNU_HASH
};

Exports exports(uint64_t dynamic, uint64_t bias) {
    Exports exports;
    if (!dynamic) return exports;
    for (const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(dynamic); entry->d_tag != DT_NULL; ++entry) {
        // The loader has made addresses of most modules' offsets, but not of all.
        uint64_t address = entry->d_un.d_ptr;
        if (address < bias) address += bias;
        if (entry->d_tag == DT_SYMTAB) exports.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
        if (entry->d_tag == DT_STRTAB) exports.strings = reinterpret_cast<const char*>(address);
        if (entry->d_tag == DT_GNU_HASH) exports.hash = reinterpret_cast<const uint32_t*>(address);
    }
    return exports;
}

LoadedSymbol find_in(const Exports& exports, uint64_t bias, const char* name) {
    if (!exports.symbols || !exports.strings || !exports.hash) return {};
    uint32_t hash = 5381;
    for (const char* c = name; *c; ++c) hash = hash * 33 + static_cast<uint8_t>(*c);
    // Sizes, a Bloom filter, the first symbol of each bucket, and for each symbol its hash, whose lowest bit ends the bucket.
    const uint32_t buckets = exports.hash[0];
    const uint32_t first = exports.hash[1];
    const uint32_t words = exports.hash[2];
    const uint32_t shift = exports.hash[3];
    const auto* filter = reinterpret_cast<const ElfW(Addr)*>(exports.hash + 4);
    const auto* bucket = reinterpret_cast<const uint32_t*>(filter + words);
    const uint32_t* chain = bucket + buckets;
    constexpr uint32_t kBits = 8 * sizeof(ElfW(Addr));
    if (buckets == 0 || words == 0) return {};
    const ElfW(Addr) mask = ElfW(Addr){1} << hash % kBits | ElfW(Addr){1} << (hash >> shift) % kBits;
    if ((filter[hash / kBits % words] & mask) != mask) return {};
    uint32_t at = bucket[hash % buckets];
    if (at < first) return {};
    for (;; ++at) {
        const uint32_t found = chain[at - first];
        const ElfW(Sym) & symbol = exports.symbols[at];
        if ((found | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF && std::strcmp(exports.strings + symbol.st_name, name) == 0)
            return {bias + symbol.st_value, symbol.st_size};
        if (found & 1) return {};
    }
}

int add_module(dl_phdr_info* info, size_t, void* data) {
    LoadedModule module;
    module.path = info->dlpi_name;
    module.bias = info->dlpi_addr;
    module.begin = ~uint64_t{0};
    for (size_t i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) & header = info->dlpi_phdr[i];
        const uint64_t address = module.bias + header.p_vaddr;
        if (header.p_type == PT_LOAD) {
            module.begin = std::min(module.begin, address);
            module.end = std::max(module.end, address + header.p_memsz);
        }
        if (header.p_type == PT_DYNAMIC) module.dynamic = address;
        if (header.p_type == PT_NOTE && module.build_id.empty())
            module.build_id = build_id(reinterpret_cast<const uint8_t*>(address), header.p_filesz);
    }
    if (module.begin >= module.end) return 0;
    auto& modules = *static_cast<std::vector<LoadedModules::Module>*>(data);
    if (module.path.empty() && modules.empty()) module.path = program_path();  // the program comes first, without a name
    module.python_runtime = find_in(exports(module.dynamic, module.bias), module.bias, "_PyRuntime").address;
    modules.push_back(std::make_shared<LoadedModule>(std::move(module)));
    return 0;
}

}  // namespace

LoadedSymbol find_symbol(const LoadedModule& module, const char* name) {
    return find_in(exports(module.dynamic, module.bias), module.bias, name);
}

LoadedModules& LoadedModules::of_process() {
    // Never deleted: asked by threads that outlive static objects.
    static auto* modules = new LoadedModules;
    return *modules;
}

LoadedModules::Changes LoadedModules::changes() {
    Changes changes;
    // Any module has the numbers: the first is enough.
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
            *static_cast<Changes*>(data) = {info->dlpi_adds, info->dlpi_subs};
            return 1;
        },
        &changes);
    return changes;
}

void LoadedModules::refresh() {
    const Changes now = changes();
    if (read_ && now == read_at_) return;
    read_ = true;
    read_at_ = now;
    modules_.clear();
    dl_iterate_phdr(add_module, &modules_);
    std::sort(modules_.begin(), modules_.end(), [](const Module& a, const Module& b) { return a->begin < b->begin; });
}

LoadedModules::Module LoadedModules::find(uint64_t address) {
    const std::unique_lock lock(mutex_);
    refresh();
    const auto after =
        std::upper_bound(modules_.begin(), modules_.end(), address, [](uint64_t value, const Module& m) { return value < m->begin; });
    if (after == modules_.begin() || !(*(after - 1))->holds(address)) return nullptr;
    return *(after - 1);
}

std::vector<LoadedModules::Module> LoadedModules::all() {
    const std::unique_lock lock(mutex_);
    refresh();
    return modules_;
}

}  // namespace snoopie
