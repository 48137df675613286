// Python frames of the calling thread, read from the interpreter's memory: without its lock, which a thread that waits for the driver may
// hold, and without touching a reference count. The frames of a thread do not change while it is in a call of C, with the lock or without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "stacks/loaded_modules.h"

namespace snoopie {

// A function of Python that is being executed.
struct PythonFrame {
    uint64_t code = 0;         // address of its code object
    uint64_t instruction = 0;  // address of what it executes
    uint64_t identity = 0;     // a hash of all that tells the frame from others, also from those of a later code object at the same address
    bool entered = false;      // called by C, and not by the frame behind it in the same run of the interpreter
};

struct PythonPlace {
    std::string function;  // qualified name
    std::string file;
    uint32_t line = 0;
};

// Where the members of an interpreter's structures are, in bytes; of CPython 3.11 to 3.14.
struct PythonLayout {
    uint64_t control = 0;  // of a thread's state: the structure that has the current frame, 0 = it has it itself
    uint64_t current_frame = 0;
    uint64_t frame_code = 0;
    uint64_t frame_previous = 0;
    uint64_t frame_instruction = 0;
    uint64_t frame_owner = 0;
    uint64_t frame_entry = 0;  // the flag that 3.11 has instead of frames that C owns, 0 = it has not
    uint64_t code_file = 0;
    uint64_t code_name = 0;
    uint64_t code_lines = 0;
    uint64_t code_first_line = 0;
    uint64_t code_instructions = 0;
    uint64_t object_type = 8;
    uint64_t text_length = 16;
    uint64_t text_state = 32;
    uint64_t text_kind = 2;    // bit of the state at which the kind begins: bytes of a character (3 bits), compact, ASCII
    uint64_t text_ascii = 40;  // size of what stands before the characters of a string of ASCII,
    uint64_t text_other = 56;  // and of another
};

class PythonFrames {
  public:
    static constexpr size_t kMostFrames = 256;

    // The interpreter that a module is. Null, and *why a sentence, if its frames cannot be read.
    static std::unique_ptr<PythonFrames> of(const LoadedModule& interpreter, std::string* why);

    const LoadedModule& module() const { return module_; }
    // Whether a return address is in the function that executes Python code.
    bool evaluates(uint64_t pc) const { return evaluate_.address < pc && pc <= evaluate_.address + evaluate_.size; }

    // Fills `frames` with at most kMostFrames of the calling thread, innermost first.
    size_t read(PythonFrame* frames) const;
    // Only while the frame is there.
    PythonPlace place(const PythonFrame& frame) const;

  private:
    PythonFrames(const LoadedModule& module, const PythonLayout& layout) : module_(module), layout_(layout) {}
    std::string text(uint64_t object) const;

    const LoadedModule module_;
    const PythonLayout layout_;
    LoadedSymbol evaluate_;
    uint64_t code_type_ = 0;
    uint64_t text_type_ = 0;
    void* (*thread_state_)() = nullptr;
    int (*initialized_)() = nullptr;
    int (*finalizing_)() = nullptr;
    int (*line_)(void* code, int offset) = nullptr;
};

}  // namespace snoopie
