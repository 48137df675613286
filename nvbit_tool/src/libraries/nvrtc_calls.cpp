#include "libraries/nvrtc_calls.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

#include "libraries/preloaded.h"
#include "settings/options.h"
#include "trace/compiled_sources.h"

namespace snoopie {

namespace {

using Texts = const char* const*;
using Create = int(void** program, const char* text, const char* name, int headers, Texts header_texts, Texts header_names);

constexpr int kInternalError = 11;                  // NVRTC_ERROR_INTERNAL_ERROR
constexpr char kWithoutName[] = "default_program";  // what NVRTC calls a program without one

bool texts_are_wanted() {
    const auto settings = read_options(getenv);
    const auto* const options = std::get_if<Options>(&settings);
    return options && options->source && options->code_attribution;
}

// As line tables have it: NVRTC puts the current folder before what is not a whole path.
std::string recorded_name(const std::string& name) {
    char folder[PATH_MAX];
    return name[0] == '/' || !getcwd(folder, sizeof folder) ? name : std::string(folder) + "/" + name;
}

void keep(const char* text, const char* name, int headers, Texts header_texts, Texts header_names) {
    static const bool wanted = texts_are_wanted();
    if (!wanted) return;
    CompiledSources& sources = CompiledSources::of_process();
    sources.keep(recorded_name(name && *name ? name : kWithoutName), text);
    for (int i = 0; i < headers; ++i) sources.keep(recorded_name(header_names[i]), header_texts[i]);
}

int create(Create* real, void** program, const char* text, const char* name, int headers, Texts header_texts, Texts header_names) {
    if (!real) return kInternalError;
    const int status = real(program, text, name, headers, header_texts, header_names);
    if (status == 0) attempt([&] { keep(text, name, headers, header_texts, header_names); });
    return status;
}

// A process can have several NVRTCs, and what one has begun, another cannot go on with: so each that is looked up has a function of its own
// here. What is found beyond that is let alone.
constexpr size_t kMostLibraries = 8;
std::atomic<Create*> looked_up[kMostLibraries];

template <size_t Library>
int create_in(void** program, const char* text, const char* name, int headers, Texts header_texts, Texts header_names) {
    return create(looked_up[Library], program, text, name, headers, header_texts, header_names);
}

template <size_t... Libraries>
constexpr std::array<Create*, kMostLibraries> functions(std::index_sequence<Libraries...>) {
    return {create_in<Libraries>...};
}
constexpr std::array<Create*, kMostLibraries> kFunctions = functions(std::make_index_sequence<kMostLibraries>());

}  // namespace

}  // namespace snoopie

using namespace snoopie;

extern "C" int nvrtcCreateProgram(void** program, const char* text, const char* name, int headers, Texts header_texts, Texts header_names) {
    Create* const real =
        hidden_function(&nvrtcCreateProgram, kNvrtcCreate, __builtin_return_address(0), "fails with NVRTC_ERROR_INTERNAL_ERROR");
    return create(real, program, text, name, headers, header_texts, header_names);
}

namespace snoopie {

void* instead_of_nvrtc_create(void* found) {
    auto* const real = reinterpret_cast<Create*>(found);
    if (!real || real == &nvrtcCreateProgram) return found;
    for (size_t i = 0; i < kMostLibraries; ++i) {
        Create* known = nullptr;
        if (looked_up[i].compare_exchange_strong(known, real) || known == real) return reinterpret_cast<void*>(kFunctions[i]);
    }
    return found;
}

}  // namespace snoopie
