// What the functions have in common that stand, because this library is preloaded, before those of another library.
#pragma once

#include <string>

#include "base/attempt.h"
#include "base/say.h"
#include "libraries/next_function.h"

namespace snoopie {

// The function that `own` hides, which may be another that stands before the library. Null, after a line that says what becomes of the
// call, if there is none.
template <class Function>
Function* hidden_function(Function*, const char* name, const void* caller, const char* else_the_call) {
    void* found = nullptr;
    attempt([&] {
        found = next_function(name, caller);
        if (!found) say("the program calls " + std::string(name) + ", but no loaded library has it: the call " + else_the_call);
    });
    return reinterpret_cast<Function*>(found);
}

// Calls `real` with the thread marked as being in the library, whose own calls of its public functions come to this one as well.
class Inside {
  public:
    explicit Inside(bool* inside) : inside_(inside), outer_(*inside) { *inside_ = true; }
    ~Inside() { *inside_ = outer_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

  private:
    bool* const inside_;
    const bool outer_;
};

}  // namespace snoopie
