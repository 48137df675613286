// Does what its words say, in turn:
//
//   create LIBRARY NAME TEXT [HEADER TEXT]…   begins a program, in a library that it opens, or by the function that it is linked with
//                                             ("linked") or finds ("default"); "-" is a null, a header's name has a dot
//   kept NAME                                 prints the text that the preloaded library has under the name
//   next, home LIBRARY                        print what lookups find that depend on their caller (scope.cpp)
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "preload/interface.h"

using Texts = const char* const*;
using Create = int(void** program, const char* text, const char* name, int headers, Texts header_texts, Texts header_names);
// It is also made without the libraries.
extern "C" {
[[gnu::weak]] Create nvrtcCreateProgram;
[[gnu::weak]] const char* whose();
}

namespace {

template <class Function>
Function* look_up(void* library, const char* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
}

Create* create_of(const std::string& library) {
    if (library == "linked") return nvrtcCreateProgram;
    void* const opened = library == "default" ? RTLD_DEFAULT : dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    return look_up<Create>(opened, "nvrtcCreateProgram");
}

const char* given(const char* word) { return std::strcmp(word, "-") == 0 ? nullptr : word; }

void print_kept(const char* name) {
    const auto* const preload = look_up<const snoopie::Preload>(RTLD_DEFAULT, snoopie::kPreloadSymbol);
    const auto text = preload ? preload->compiled_sources().find(name) : std::nullopt;
    std::printf("kept: %s\n", text ? text->c_str() : "(nothing)");
}

}  // namespace

int main(int count, char** words) {
    for (int i = 1; i < count;) {
        const std::string word = words[i++];
        if (word == "create") {
            Create* const create = create_of(words[i]);
            std::vector<const char*> names, texts;
            const char* const name = given(words[i + 1]);
            const char* const text = given(words[i + 2]);
            for (i += 3; i < count && std::strchr(words[i], '.'); i += 2) {
                names.push_back(words[i]);
                texts.push_back(words[i + 1]);
            }
            std::printf("result %d\n", create(nullptr, text, name, static_cast<int>(names.size()), texts.data(), names.data()));
        } else if (word == "kept") {
            print_kept(words[i++]);
        } else if (word == "next") {
            std::printf("%s\n", whose());
        } else if (word == "home") {
            std::printf("%s\n", look_up<const char*()>(dlopen(words[i++], RTLD_NOW | RTLD_LOCAL), "look_at_home")());
        }
    }
    return 0;
}
