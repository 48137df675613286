#include "stacks/frame_rule.h"

#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/load.h"
#include "base/reader.h"

extern "C" {
// Of libgcc, which uses it to throw exceptions: the table's entry for a place in the code, also of code made at run time.
struct dwarf_eh_bases {
    void* text;
    void* data;
    void* function;
};
const void* _Unwind_Find_FDE(void* pc, dwarf_eh_bases* bases);
}

namespace snoopie {

namespace {

// What DWARF calls the registers, and where the return address is.
#if defined(__x86_64__)
constexpr bool kKnownMachine = true;
constexpr uint64_t kFp = 6;
constexpr uint64_t kSp = 7;
constexpr uint64_t kReturnAddress = 16;
constexpr int64_t kReturnOffset = -8;
#else
constexpr bool kKnownMachine = false;
constexpr uint64_t kFp = 29;
constexpr uint64_t kSp = 31;
constexpr uint64_t kReturnAddress = 30;
constexpr int64_t kReturnOffset = -8;
#endif

// Bytes behind their number.
Reader block(Reader* code) { return code->take(code->uleb()); }

// A row of the unwind table, as far as a rule can say it.
struct Row {
    bool base_known = false;
    FrameRule::Base base = FrameRule::Base::sp;
    int64_t base_offset = 0;
    bool saved_known = true;
    FrameRule::Saved saved = FrameRule::Saved::kept;
    int64_t saved_offset = 0;
    bool return_known = true;
    bool returns = true;
    int64_t return_offset = kReturnOffset;
};

// What all functions of one entry of the table share.
struct Common {
    uint64_t code_factor = 1;
    int64_t data_factor = 1;
    uint8_t encoding = 0;  // of the addresses in the functions' entries
    bool sized = false;    // these have a block that says its size
    Row row;
};

constexpr uint8_t kBregFp = 0x70 + kFp;
constexpr uint8_t kDeref = 0x06;

class Program {
  public:
    explicit Program(Common* common) : common_(*common) {}

    // Runs instructions until the row of `place`, in bytes after the function's begin. False where it is not understood.
    bool run(Reader code, uint64_t place, Row* row) {
        initial_ = *row;
        uint64_t location = 0;
        while (!code.at_end()) {
            const uint8_t byte = code.read<uint8_t>();
            const uint8_t low = byte & 0x3f;
            uint64_t advance = 0;
            switch (byte & 0xc0) {
                case 0x40:
                    advance = low;
                    break;
                case 0x80:
                    set(row, low, static_cast<int64_t>(code.uleb()) * common_.data_factor);
                    continue;
                case 0xc0:
                    restore(row, low);
                    continue;
                default:
                    if (low >= 2 && low <= 4) {
                        advance = low == 2 ? code.read<uint8_t>() : low == 3 ? code.read<uint16_t>() : code.read<uint32_t>();
                        break;
                    }
                    if (!other(low, &code, row)) return false;
                    continue;
            }
            location += advance * common_.code_factor;
            if (location > place) break;
        }
        return code.ok();
    }

  private:
    void set(Row* row, uint64_t reg, int64_t offset) {
        if (reg == kFp) {
            row->saved_known = true;
            row->saved = FrameRule::Saved::at_cfa;
            row->saved_offset = offset;
        } else if (reg == kReturnAddress) {
            row->return_known = row->returns = true;
            row->return_offset = offset;
        }
    }

    void restore(Row* row, uint64_t reg) {
        if (reg == kFp) {
            row->saved_known = initial_.saved_known;
            row->saved = initial_.saved;
            row->saved_offset = initial_.saved_offset;
        } else if (reg == kReturnAddress) {
            row->return_known = initial_.return_known;
            row->returns = initial_.returns;
            row->return_offset = initial_.return_offset;
        }
    }

    void lose(Row* row, uint64_t reg) {
        if (reg == kFp) row->saved_known = false;
        if (reg == kReturnAddress) row->return_known = false;
    }

    void base(Row* row, uint64_t reg, int64_t offset) {
        row->base_known = reg == kSp || reg == kFp;
        row->base = reg == kFp ? FrameRule::Base::fp : FrameRule::Base::sp;
        row->base_offset = offset;
    }

    bool other(uint8_t instruction, Reader* code, Row* row) {
        const auto factored = [&] { return code->sleb() * common_.data_factor; };
        switch (instruction) {
            case 0x00:  // nop
                return true;
            case 0x05: {  // offset_extended
                const uint64_t reg = code->uleb();
                set(row, reg, static_cast<int64_t>(code->uleb()) * common_.data_factor);
                return true;
            }
            case 0x06:  // restore_extended
                restore(row, code->uleb());
                return true;
            case 0x07: {  // undefined: of the return address it says that there is no caller
                const uint64_t reg = code->uleb();
                if (reg == kReturnAddress) row->returns = false;
                if (reg == kFp) row->saved_known = false;
                return true;
            }
            case 0x08: {  // same_value
                const uint64_t reg = code->uleb();
                if (reg == kFp) {
                    row->saved_known = true;
                    row->saved = FrameRule::Saved::kept;
                }
                if (reg == kReturnAddress) row->return_known = false;
                return true;
            }
            case 0x09:  // register
                lose(row, code->uleb());
                code->uleb();
                return true;
            case 0x0a:  // remember_state
                remembered_.push_back(*row);
                return true;
            case 0x0b:  // restore_state
                if (remembered_.empty()) return false;
                *row = remembered_.back();
                remembered_.pop_back();
                return true;
            case 0x0c: {  // def_cfa
                const uint64_t reg = code->uleb();
                base(row, reg, static_cast<int64_t>(code->uleb()));
                return true;
            }
            case 0x0d:  // def_cfa_register
                base(row, code->uleb(), row->base_offset);
                return true;
            case 0x0e:  // def_cfa_offset
                row->base_offset = static_cast<int64_t>(code->uleb());
                return true;
            case 0x0f: {  // def_cfa_expression: a function that aligns its stack keeps the CFA in its frame
                Reader expression = block(code);
                row->base_known = expression.read<uint8_t>() == kBregFp;
                row->base = FrameRule::Base::at_fp;
                row->base_offset = expression.sleb();
                row->base_known &= expression.read<uint8_t>() == kDeref && expression.ok() && expression.at_end();
                return true;
            }
            case 0x10: {  // expression
                const uint64_t reg = code->uleb();
                Reader expression = block(code);
                lose(row, reg);
                if (reg != kFp) return true;
                row->saved_known = expression.read<uint8_t>() == kBregFp;
                row->saved = FrameRule::Saved::at_fp;
                row->saved_offset = expression.sleb();
                row->saved_known &= expression.ok() && expression.at_end();
                return true;
            }
            case 0x11: {  // offset_extended_sf
                const uint64_t reg = code->uleb();
                set(row, reg, factored());
                return true;
            }
            case 0x12: {  // def_cfa_sf
                const uint64_t reg = code->uleb();
                base(row, reg, factored());
                return true;
            }
            case 0x13:  // def_cfa_offset_sf
                row->base_offset = factored();
                return true;
            case 0x14:  // val_offset
            case 0x15:  // val_offset_sf
                lose(row, code->uleb());
                code->uleb();
                return true;
            case 0x16:  // val_expression
                lose(row, code->uleb());
                block(code);
                return true;
            case 0x2e:  // GNU_args_size
                code->uleb();
                return true;
            default:
                return false;
        }
    }

    const Common& common_;
    Row initial_;
    std::vector<Row> remembered_;
};

// Bytes of an encoded address, 0 where this is not fixed.
size_t encoded_size(uint8_t encoding) {
    switch (encoding & 0x07) {
        case 0:
            return sizeof(void*);
        case 2:
            return 2;
        case 3:
            return 4;
        case 4:
            return 8;
        default:
            return 0;
    }
}

// An entry of the table without its length, which must be one of 32 bits.
std::optional<Reader> entry(const uint8_t* at) {
    const uint32_t length = load<uint32_t>(reinterpret_cast<uint64_t>(at));
    if (length == 0 || length == ~uint32_t{0}) return std::nullopt;
    return Reader(std::string_view(reinterpret_cast<const char*>(at) + sizeof length, length));
}

std::optional<Common> common(const uint8_t* at) {
    std::optional<Reader> code = entry(at);
    if (!code) return std::nullopt;
    Common common;
    code->skip(sizeof(uint32_t));  // 0 tells it from a function's
    const uint8_t version = code->read<uint8_t>();
    const std::string_view augmentation = code->text();
    if (version != 1 && version != 3) return std::nullopt;
    common.code_factor = code->uleb();
    common.data_factor = code->sleb();
    if ((version == 1 ? code->read<uint8_t>() : code->uleb()) != kReturnAddress || !code->ok()) return std::nullopt;
    if (!augmentation.empty()) {
        if (augmentation.front() != 'z') return std::nullopt;
        common.sized = true;
        Reader data = block(&*code);
        for (const char item : augmentation.substr(1)) {
            switch (item) {
                case 'R':
                    common.encoding = data.read<uint8_t>();
                    break;
                case 'L':
                    data.read<uint8_t>();
                    break;
                case 'P': {
                    const size_t size = encoded_size(data.read<uint8_t>());
                    if (size == 0) return std::nullopt;
                    data.skip(size);
                    break;
                }
                default:  // S: a signal's frame
                    return std::nullopt;
            }
        }
        if (!data.ok()) return std::nullopt;
    }
    if (!Program(&common).run(*code, ~uint64_t{0}, &common.row)) return std::nullopt;
    return common;
}

std::optional<Row> row_of(const uint8_t* at, uint64_t place) {
    std::optional<Reader> code = entry(at);
    if (!code) return std::nullopt;
    const auto* place_of_offset = reinterpret_cast<const uint8_t*>(code->rest().data());
    std::optional<Common> shared = common(place_of_offset - code->read<uint32_t>());
    if (!shared) return std::nullopt;
    const size_t size = encoded_size(shared->encoding);
    if (size == 0) return std::nullopt;
    code->skip(2 * size);  // begin and length
    if (shared->sized) block(&*code);
    Row row = shared->row;
    if (!Program(&*shared).run(*code, place, &row)) return std::nullopt;
    return row;
}

bool fits(int64_t offset) { return offset >= std::numeric_limits<int32_t>::min() && offset <= std::numeric_limits<int32_t>::max(); }

}  // namespace

FrameRule frame_rule(uint64_t pc) {
    FrameRule rule;
    rule.kind = FrameRule::Kind::other;
    if (!kKnownMachine) return rule;
    // The call, which may be the last instruction of its function.
    const uint64_t call = pc - 1;
    dwarf_eh_bases bases{};
    const auto* found = static_cast<const uint8_t*>(_Unwind_Find_FDE(reinterpret_cast<void*>(call), &bases));
    if (!found) {
        rule.kind = FrameRule::Kind::unknown;
        return rule;
    }
    const std::optional<Row> row = row_of(found, call - reinterpret_cast<uint64_t>(bases.function));
    if (!row || !row->return_known) return rule;
    if (!row->returns) {
        rule.kind = FrameRule::Kind::outermost;
    } else if (row->base_known && row->saved_known && row->return_offset == kReturnOffset && fits(row->base_offset) &&
               fits(row->saved_offset)) {
        rule.kind = FrameRule::Kind::plain;
        rule.base = row->base;
        rule.saved = row->saved;
        rule.base_offset = static_cast<int32_t>(row->base_offset);
        rule.saved_offset = static_cast<int32_t>(row->saved_offset);
    }
    return rule;
}

}  // namespace snoopie
