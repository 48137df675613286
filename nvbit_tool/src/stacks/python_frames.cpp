#include "stacks/python_frames.h"

#include <cstring>
#include <optional>

#include "base/load.h"

namespace snoopie {

namespace {

constexpr uint8_t kOwnedByC = 3;  // and above: a frame that only marks where C called the interpreter
constexpr uint64_t kTagBits = 7;  // of references on the stack of 3.14
constexpr size_t kMostCharacters = 4096;
constexpr int64_t kMostInstructions = int64_t{1} << 28;  // bytes of a code object

bool plausible(uint64_t pointer) { return pointer >= 4096 && pointer < uint64_t{1} << 56 && pointer % sizeof(void*) == 0; }

uint64_t mixed(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

PythonLayout layout_3_11() {
    PythonLayout layout;
    layout.control = 56;
    layout.current_frame = 8;
    layout.frame_code = 32;
    layout.frame_previous = 48;
    layout.frame_instruction = 56;
    layout.frame_owner = 69;
    layout.frame_entry = 68;
    layout.code_file = 112;
    layout.code_name = 128;
    layout.code_lines = 136;
    layout.code_first_line = 72;
    layout.code_instructions = 184;
    layout.text_ascii = 48;
    layout.text_other = 72;
    return layout;
}

PythonLayout layout_3_12() {
    PythonLayout layout;
    layout.control = 56;
    layout.current_frame = 0;
    layout.frame_code = 0;
    layout.frame_previous = 8;
    layout.frame_instruction = 56;
    layout.frame_owner = 70;
    layout.code_file = 112;
    layout.code_name = 128;
    layout.code_lines = 136;
    layout.code_first_line = 68;
    layout.code_instructions = 192;
    return layout;
}

// From 3.13 on, the interpreter itself says where its members are, in a table at the beginning of _PyRuntime. Its own layout is that of the
// version: the places in it of the structures' parts.
struct TablePlaces {
    uint64_t thread, frame, code, object, text;
    uint64_t text_kind;
};
constexpr TablePlaces kPlaces_3_13 = {152, 224, 272, 352, 536, 2};
constexpr TablePlaces kPlaces_3_14 = {176, 248, 312, 400, 616, 16};

std::optional<PythonLayout> layout_of_table(uint64_t runtime, uint64_t version, const TablePlaces& at) {
    if (std::memcmp(reinterpret_cast<const void*>(runtime), "xdebugpy", 8) != 0 || load<uint64_t>(runtime + 8) != version)
        return std::nullopt;
    bool sane = true;
    const auto member = [&](uint64_t part, uint64_t number) {
        const uint64_t offset = load<uint64_t>(runtime + part + 8 * number);
        sane &= offset < 4096;
        return offset;
    };
    PythonLayout layout;
    layout.current_frame = member(at.thread, 4);
    layout.frame_previous = member(at.frame, 1);
    layout.frame_code = member(at.frame, 2);
    layout.frame_instruction = member(at.frame, 3);
    layout.frame_owner = member(at.frame, 5);
    layout.code_file = member(at.code, 1);
    layout.code_name = member(at.code, 3);
    layout.code_lines = member(at.code, 4);
    layout.code_first_line = member(at.code, 5);
    layout.code_instructions = member(at.code, 9);
    layout.object_type = member(at.object, 1);
    layout.text_state = member(at.text, 1);
    layout.text_length = member(at.text, 2);
    layout.text_ascii = member(at.text, 3);
    layout.text_kind = at.text_kind;
    layout.text_other = layout.text_ascii + 2 * sizeof(void*);
    const uint64_t frame_size = member(at.frame, 0);
    sane &= layout.frame_owner < frame_size && layout.frame_instruction < frame_size && layout.code_instructions < member(at.code, 0) + 64;
    return sane ? std::optional(layout) : std::nullopt;
}

void put_utf8(uint32_t character, std::string* text) {
    const auto put = [&](uint32_t byte) { text->push_back(static_cast<char>(byte)); };
    // What cannot be written as UTF-8, such as the surrogates that stand for bytes of a file's name.
    if (character >= 0x110000 || (character >= 0xD800 && character < 0xE000)) character = 0xFFFD;
    if (character < 0x80) {
        put(character);
    } else if (character < 0x800) {
        put(0xC0 | character >> 6);
        put(0x80 | (character & 0x3F));
    } else if (character < 0x10000) {
        put(0xE0 | character >> 12);
        put(0x80 | (character >> 6 & 0x3F));
        put(0x80 | (character & 0x3F));
    } else {
        put(0xF0 | character >> 18);
        put(0x80 | (character >> 12 & 0x3F));
        put(0x80 | (character >> 6 & 0x3F));
        put(0x80 | (character & 0x3F));
    }
}

}  // namespace

std::unique_ptr<PythonFrames> PythonFrames::of(const LoadedModule& interpreter, std::string* why) {
    const auto address = [&](const char* name) { return find_symbol(interpreter, name).address; };
    const uint64_t version_address = address("Py_Version");
    const uint64_t version = version_address ? load<unsigned long>(version_address) : 0;
    const unsigned minor = version >> 16 & 0xFF;
    std::optional<PythonLayout> layout;
#if defined(__LP64__)
    if (version >> 24 == 3) {
        if (minor == 11) layout = layout_3_11();
        if (minor == 12) layout = layout_3_12();
        if (minor == 13) layout = layout_of_table(interpreter.python_runtime, version, kPlaces_3_13);
        if (minor == 14) layout = layout_of_table(interpreter.python_runtime, version, kPlaces_3_14);
    }
#endif
    std::unique_ptr<PythonFrames> python;
    if (layout) {
        python.reset(new PythonFrames(interpreter, *layout));
        const auto set = [&](auto* function, const char* name) {
            *function = reinterpret_cast<std::decay_t<decltype(*function)>>(address(name));
            return *function != nullptr;
        };
        python->evaluate_ = find_symbol(interpreter, "_PyEval_EvalFrameDefault");
        python->code_type_ = address("PyCode_Type");
        python->text_type_ = address("PyUnicode_Type");
        const bool whole = python->code_type_ && python->text_type_ && set(&python->thread_state_, "PyGILState_GetThisThreadState") &&
                           set(&python->initialized_, "Py_IsInitialized") &&
                           (set(&python->finalizing_, "Py_IsFinalizing") || set(&python->finalizing_, "_Py_IsFinalizing")) &&
                           set(&python->line_, "PyCode_Addr2Line");
        if (!whole) python.reset();
    }
    if (!python) {
        const std::string number = version ? "Python 3." + std::to_string(minor) : "this version of Python";
        *why = "the frames of " + number + " (" + interpreter.path +
               ") cannot be read: call stacks show the interpreter's own functions; CPython 3.11 to 3.14 are known";
    }
    return python;
}

size_t PythonFrames::read(PythonFrame* frames) const {
    // While it ends, the interpreter takes the states of other threads away.
    if (!initialized_() || finalizing_()) return 0;
    const auto state = reinterpret_cast<uint64_t>(thread_state_());
    if (!plausible(state)) return 0;
    const uint64_t holder = layout_.control ? load<uint64_t>(state + layout_.control) : state;
    if (!plausible(holder)) return 0;
    size_t count = 0;
    // More steps than frames: some are C's.
    uint64_t frame = load<uint64_t>(holder + layout_.current_frame);
    for (size_t step = 0; step < 2 * kMostFrames && count < kMostFrames && plausible(frame); ++step) {
        const uint64_t here = frame;
        frame = load<uint64_t>(here + layout_.frame_previous);
        const bool marks = layout_.frame_entry == 0 && load<uint8_t>(here + layout_.frame_owner) >= kOwnedByC;
        if (marks) {
            if (count) frames[count - 1].entered = true;
            continue;
        }
        const uint64_t code = load<uint64_t>(here + layout_.frame_code) & ~kTagBits;
        if (!plausible(code) || load<uint64_t>(code + layout_.object_type) != code_type_) continue;
        PythonFrame& out = frames[count++];
        out.code = code;
        out.instruction = load<uint64_t>(here + layout_.frame_instruction);
        out.entered = layout_.frame_entry != 0 && load<uint8_t>(here + layout_.frame_entry) != 0;
        uint64_t identity = mixed(code, load<uint64_t>(code + layout_.code_file));
        identity = mixed(identity, load<uint64_t>(code + layout_.code_name));
        identity = mixed(identity, load<uint64_t>(code + layout_.code_lines));
        identity = mixed(identity, load<uint32_t>(code + layout_.code_first_line));
        out.identity = mixed(identity, out.instruction);
    }
    if (count) frames[count - 1].entered = true;
    return count;
}

PythonPlace PythonFrames::place(const PythonFrame& frame) const {
    PythonPlace place;
    place.function = text(load<uint64_t>(frame.code + layout_.code_name));
    place.file = text(load<uint64_t>(frame.code + layout_.code_file));
    const auto offset = static_cast<int64_t>(frame.instruction - (frame.code + layout_.code_instructions));
    int line = 0;
    if (offset >= -2 && offset < kMostInstructions) line = line_(reinterpret_cast<void*>(frame.code), static_cast<int>(offset));
    if (line <= 0) line = load<int32_t>(frame.code + layout_.code_first_line);
    place.line = line > 0 ? static_cast<uint32_t>(line) : 0;
    return place;
}

std::string PythonFrames::text(uint64_t object) const {
    std::string text;
    if (!plausible(object) || load<uint64_t>(object + layout_.object_type) != text_type_) return text;
    const uint32_t state = load<uint32_t>(object + layout_.text_state) >> layout_.text_kind;
    const uint32_t width = state & 7;
    const bool compact = state >> 3 & 1;
    const bool ascii = state >> 4 & 1;
    const uint64_t length = load<uint64_t>(object + layout_.text_length);
    if (!compact || length > kMostCharacters || (width != 1 && width != 2 && width != 4)) return text;
    const uint64_t characters = object + (ascii ? layout_.text_ascii : layout_.text_other);
    for (uint64_t i = 0; i < length; ++i) {
        const uint64_t at = characters + i * width;
        put_utf8(width == 1 ? load<uint8_t>(at) : width == 2 ? load<uint16_t>(at) : load<uint32_t>(at), &text);
    }
    return text;
}

}  // namespace snoopie
