// .debug_line in a cubin is DWARF (version 2 from ptxas 11 to 13.2, 3 from 13.5) with additions of NVIDIA:
//
// - One sequence a function, except that a device function which ptxas put into its caller's section is in the caller's sequence. The
//   operand of DW_LNE_set_address is zero; the relocation at its place names the function. A sequence without one belongs to a function
//   that the linker removed.
// - Extended opcode 0x90 has two ULEB128 operands, context and name. The rows that follow were inlined at the row with that number,
//   counted from 1 in the sequence, always an earlier one; 0 = not inlined. They belong to the inlined function whose mangled name is at
//   `name` in .debug_str. Some rows cover no instruction and are only call sites: of several rows at one address the last one counts.
// - `name` is relative to four bytes that follow the file names in the header. nvlink leaves them zero for sm_90 (seen up to 13.5): the
//   names of a linked cubin's later units cannot be found then.
// - A row that repeats the one before it unchanged has no number. ptxas writes one at the beginning of some functions, for sm_90 and newer.
//   nvdisasm counts it, and from there on shows chains that are not in the PTX.
#include "code/line_table.h"

#include <algorithm>
#include <tuple>

#include "code/cubin.h"

namespace snoopie {

namespace {

enum Standard : uint8_t { kExtended, kCopy, kAdvancePc, kAdvanceLine, kSetFile, kConstAddPc = 8, kFixedAdvancePc };
enum Extended : uint8_t { kEndSequence = 1, kSetAddress = 2, kInlinedCall = 0x90 };

}  // namespace

class LineTable::Builder {
  public:
    Builder(const Cubin& cubin, LineTable* table)
        : names_(cubin.bytes(".debug_str")), targets_(cubin.relocations(".debug_line")), table_(table) {
        for (const Cubin::Symbol& symbol : cubin.symbols())
            if (symbol.is_function && symbol.section)
                table_->functions_.insert({std::string(symbol.name), {symbol.section, symbol.address, symbol.size}});
    }

    // Reads one compilation unit. Returns why it cannot, or nullptr.
    const char* read(Reader unit, bool is_first) {
        const auto version = unit.read<uint16_t>();
        if (version < 2 || version > 4) return "its .debug_line section is damaged or of an unknown version";
        Reader header = unit.take(unit.read<uint32_t>());
        instruction_size_ = header.read<uint8_t>();
        if (version == 4) header.skip(1);  // operations in an instruction
        header.skip(1);                    // whether rows are statements at first
        line_base_ = header.read<int8_t>();
        line_range_ = header.read<uint8_t>();
        opcode_base_ = header.read<uint8_t>();
        if (line_range_ == 0 || opcode_base_ == 0) return "its .debug_line section has no valid opcodes";
        operands_ = header.take(opcode_base_ - 1u).rest();

        std::vector<std::string_view> directories = {""};
        for (std::string_view name = header.text(); !name.empty(); name = header.text()) directories.push_back(name);
        files_.assign(1, 0);
        for (std::string_view name = header.text(); !name.empty(); name = header.text()) {
            const uint64_t directory = header.uleb();
            const bool joined = directory != 0 && directory < directories.size() && name.front() != '/';
            files_.push_back(string_id(joined ? std::string(directories[directory]) + "/" + std::string(name) : std::string(name)));
            header.uleb();  // time
            header.uleb();  // size
        }
        names_start_ = header.left() ? header.read<uint32_t>() : 0;
        names_known_ = is_first || names_start_ != 0;

        begin_sequence();
        while (header.ok() && !unit.at_end()) step(&unit);
        return header.ok() && unit.ok() ? nullptr : "its .debug_line section is cut off";
    }

  private:
    struct State {
        uint64_t address = 0;
        uint64_t file = 1;
        uint64_t line = 1;
        uint64_t context = 0;
    };

    void begin_sequence() {
        state_ = {};
        section_ = 0;
        function_ = 0;
        numbered_.clear();
    }

    void step(Reader* program) {
        const auto opcode = program->read<uint8_t>();
        if (opcode >= opcode_base_) {
            advance(opcode);
            state_.line += static_cast<uint64_t>(line_base_ + (opcode - opcode_base_) % line_range_);
            return emit();
        }
        switch (opcode) {
            case kExtended:
                return extended(program->take(program->uleb()));
            case kCopy:
                return emit();
            case kAdvancePc:
                state_.address += program->uleb() * instruction_size_;
                break;
            case kAdvanceLine:
                state_.line += static_cast<uint64_t>(program->sleb());
                break;
            case kSetFile:
                state_.file = program->uleb();
                break;
            case kConstAddPc:
                advance(255);
                break;
            case kFixedAdvancePc:
                state_.address += program->read<uint16_t>();
                break;
            default:
                for (auto i = static_cast<uint8_t>(operands_[opcode - 1u]); i > 0; --i) program->uleb();
        }
    }

    void extended(Reader operands) {
        const auto opcode = operands.read<uint8_t>();
        if (opcode == kEndSequence) {
            if (section_) end_rows(&table_->rows_[section_]);
            begin_sequence();
        } else if (opcode == kSetAddress) {
            const auto target = targets_.find(operands.offset());
            std::tie(section_, state_.address) = target == targets_.end() ? Cubin::Targets::mapped_type() : target->second;
        } else if (opcode == kInlinedCall) {
            state_.context = operands.uleb();
            const uint64_t name = operands.uleb();
            function_ = state_.context && names_known_ ? name_id(names_start_ + name) : 0;
        }
    }

    // Rows at the end cover no instruction.
    void end_rows(std::vector<Row>* rows) const {
        while (!rows->empty() && rows->back().line && rows->back().address >= state_.address) rows->pop_back();
        rows->push_back({state_.address, 0});
    }

    // The part of a special opcode that moves the address.
    void advance(uint8_t opcode) {
        state_.address += uint64_t{instruction_size_} * static_cast<uint8_t>((opcode - opcode_base_) / line_range_);
    }

    void emit() {
        Line line;
        line.number = static_cast<uint32_t>(state_.line);
        line.file = state_.file < files_.size() ? files_[state_.file] : 0;
        if (state_.context && state_.context <= numbered_.size()) {
            line.inlined_at = numbered_[state_.context - 1];
            line.function = function_;
        }
        const uint32_t id = line_id(line);
        const auto key = [](const State& s) { return std::tie(s.address, s.file, s.line, s.context); };
        if (numbered_.empty() || key(state_) != key(last_)) numbered_.push_back(id);
        last_ = state_;
        if (section_) table_->rows_[section_].push_back({state_.address, id});
    }

    uint32_t line_id(const Line& line) {
        const auto next = static_cast<uint32_t>(table_->lines_.size());
        const auto [place, is_new] = lines_.insert({{line.number, line.file, line.function, line.inlined_at}, next});
        if (is_new) table_->lines_.push_back(line);
        return place->second;
    }

    uint32_t string_id(const std::string& text) {
        const auto [place, is_new] = strings_.insert({text, static_cast<uint32_t>(table_->strings_.size())});
        if (is_new) table_->strings_.push_back(text);
        return place->second;
    }

    // 0 if no string begins there.
    uint32_t name_id(uint64_t offset) {
        if (offset > 0 && (offset > names_.size() || names_[offset - 1] != '\0')) return 0;
        return string_id(std::string(Reader(names_, offset).text()));
    }

    const std::string_view names_;
    const Cubin::Targets targets_;
    LineTable* const table_;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, uint32_t> lines_;
    std::unordered_map<std::string, uint32_t> strings_ = {{"", 0}};

    // of the unit
    uint8_t instruction_size_ = 1;
    int line_base_ = 0;
    uint8_t line_range_ = 1;
    uint8_t opcode_base_ = 1;
    std::string_view operands_;    // how many, of each standard opcode from 1
    std::vector<uint32_t> files_;  // strings, from 1
    uint64_t names_start_ = 0;
    bool names_known_ = true;

    // of the sequence
    State state_;
    State last_;
    uint32_t section_ = 0;  // 0: of a removed function
    uint32_t function_ = 0;
    std::vector<uint32_t> numbered_;
};

std::optional<LineTable> LineTable::parse(std::string_view bytes, std::string* why_not) {
    const std::optional<Cubin> cubin = Cubin::parse(bytes, why_not);
    if (!cubin) return std::nullopt;
    LineTable table;
    Builder builder(*cubin, &table);
    Reader section(cubin->bytes(".debug_line"));
    for (bool is_first = true; !section.at_end(); is_first = false) {
        Reader unit = section.take(section.read<uint32_t>());
        const char* why = section.ok() ? builder.read(unit, is_first) : "its .debug_line section is cut off";
        if (!why) continue;
        if (why_not) *why_not = why;
        return std::nullopt;
    }
    for (auto& [_, rows] : table.rows_)  // where one sequence ends and another one begins, the end comes first
        std::stable_sort(rows.begin(), rows.end(),
                         [](const Row& a, const Row& b) { return std::pair(a.address, a.line != 0) < std::pair(b.address, b.line != 0); });
    return table;
}

const LineTable::Line* LineTable::find(std::string_view function, uint64_t offset) const {
    const auto place = functions_.find(function);
    if (place == functions_.end() || offset >= place->second.size) return nullptr;
    const auto found = rows_.find(place->second.section);
    if (found == rows_.end()) return nullptr;
    const std::vector<Row>& rows = found->second;
    const auto next = std::upper_bound(rows.begin(), rows.end(), place->second.start + offset,
                                       [](uint64_t address, const Row& row) { return address < row.address; });
    return next == rows.begin() || (next - 1)->line == 0 ? nullptr : &lines_[(next - 1)->line];
}

bool LineTable::has_lines(std::string_view function) const {
    const auto place = functions_.find(function);
    return place != functions_.end() && rows_.count(place->second.section) > 0;
}

}  // namespace snoopie
