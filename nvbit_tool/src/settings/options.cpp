#include "settings/options.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/byte_size.h"
#include "settings/kernel_filter.h"
#include "settings/output_path.h"

namespace snoopie {

namespace {

std::string trim(const std::string& text) {
    const size_t first = text.find_first_not_of(" \t\n");
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

OptionError refuse(const char* name, const std::string& value, const std::string& allowed) {
    return {std::string(name) + "=" + value + " is not understood: " + allowed};
}

constexpr const char* kCallsTexts[] = {"off", "summary", "all"};

constexpr const char* kBlocksAllowed =
    "write all, numbers and ranges of linear block indices as in 0-7,12, or ranges by axis as in x:0-3;y:1,3 (at most 32 an axis)";

// "0-7,12" into ranges; false if it is not understood.
bool read_ranges(std::string_view text, BlockRange* ranges, uint32_t* count) {
    while (true) {
        const size_t comma = std::min(text.find(','), text.size());
        std::string_view item = text.substr(0, comma);
        BlockRange range{};
        const auto number = [&](uint64_t* value) {
            const auto [stop, error] = std::from_chars(item.data(), item.data() + item.size(), *value);
            if (error != std::errc()) return false;
            item.remove_prefix(static_cast<size_t>(stop - item.data()));
            return true;
        };
        if (!number(&range.first)) return false;
        range.last = range.first;
        if (!item.empty() && item[0] == '-') {
            item.remove_prefix(1);
            if (!number(&range.last)) return false;
        }
        if (!item.empty() || range.last < range.first || *count == BlockFilter::kMaxRanges) return false;
        ranges[(*count)++] = range;
        if (comma == text.size()) return true;
        text.remove_prefix(comma + 1);
    }
}

bool read_blocks(std::string_view text, BlockFilter* filter) {
    if (text == "all") return true;
    if (text.find(':') == std::string_view::npos) {
        filter->shape = BlockFilter::kLinear;
        return read_ranges(text, filter->ranges[0], &filter->counts[0]);
    }
    filter->shape = BlockFilter::kAxes;
    while (true) {
        const size_t end = std::min(text.find(';'), text.size());
        const std::string_view part = text.substr(0, end);
        if (part.size() < 2 || part[0] < 'x' || part[0] > 'z' || part[1] != ':') return false;
        const int axis = part[0] - 'x';
        if (filter->counts[axis] != 0 || !read_ranges(part.substr(2), filter->ranges[axis], &filter->counts[axis])) return false;
        if (end == text.size()) return true;
        text.remove_prefix(end + 1);
    }
}

}  // namespace

std::string Options::kernels_text() const {
    if (kernels.empty()) return "all";
    std::string text;
    for (const std::string& pattern : kernels) text += (text.empty() ? "" : ",") + pattern;
    return text;
}

const char* Options::calls_text() const { return kCallsTexts[static_cast<size_t>(calls)]; }

std::variant<Options, OptionError> read_options(const Environment& environment) {
    Options options;
    const auto get = [&](const char* name) {
        const char* value = environment(name);
        return trim(value ? value : "");
    };

    if (const std::string value = get("KERNEL_NAME"); !value.empty() && value != "all") {
        if (const std::string error = KernelFilter::parse(value, &options.kernels); !error.empty())
            return refuse("KERNEL_NAME", value, error);
    }
    if (const std::string value = get("CODE_ATTRIBUTION"); !value.empty()) {
        if (value != "0" && value != "1") return refuse("CODE_ATTRIBUTION", value, "1 records source lines (the default), 0 does not");
        options.code_attribution = value == "1";
    }
    if (const std::string value = get("SAMPLE_SIZE"); !value.empty()) {
        const char* end = value.data() + value.size();
        const auto [stop, error] = std::from_chars(value.data(), end, options.sample_size);
        if (error != std::errc() || stop != end)
            return refuse("SAMPLE_SIZE", value,
                          "a whole number n from 0 to 4294967295 records 1 of n accesses (1, all of them, is the default; 0 records none)");
    }
    if (const std::string value = get("LAUNCH_SAMPLE"); !value.empty()) {
        const char* end = value.data() + value.size();
        const auto [stop, error] = std::from_chars(value.data(), end, options.launch_sample);
        if (error != std::errc() || stop != end || options.launch_sample == 0)
            return refuse("LAUNCH_SAMPLE", value,
                          "a whole number n from 1 to 4294967295 measures 1 launch in n of each kernel (1, all of them, is the default)");
    }
    if (const std::string value = get("BLOCKS"); !value.empty()) {
        if (!read_blocks(value, &options.blocks)) return refuse("BLOCKS", value, kBlocksAllowed);
        options.blocks_text = value;
    }
    if (const std::string value = get("HOST_MEMORY"); !value.empty()) {
        if (value != "0" && value != "1")
            return refuse("HOST_MEMORY", value, "1 measures accesses to the host's memory (the default), 0 does not");
        options.host_memory = value == "1";
    }
    if (const std::string value = get("CODE_CONTEXT"); !value.empty()) {
        if (value != "0" && value != "1") return refuse("CODE_CONTEXT", value, "1 records call stacks (the default), 0 does not");
        options.code_context = value == "1";
    }
    if (const std::string value = get("DATA_OBJECT_ATTRIBUTION"); !value.empty()) {
        if (value != "0" && value != "1")
            return refuse("DATA_OBJECT_ATTRIBUTION", value,
                          "1 records which allocation was touched and who made it (the default), 0 does not");
        options.object_attribution = value == "1";
    }
    if (const std::string value = get("PATIENCE"); !value.empty()) {
        const char* end = value.data() + value.size();
        const auto [stop, error] = std::from_chars(value.data(), end, options.patience);
        if (error != std::errc() || stop != end)
            return refuse("PATIENCE", value, "a whole number of seconds after which a kernel without progress is reported (60; 0 = never)");
    }
    if (const std::string value = get("PACKING"); !value.empty()) {
        const char* end = value.data() + value.size();
        const auto [stop, error] = std::from_chars(value.data(), end, options.packing);
        if (error != std::errc() || stop != end || options.packing < 1 || options.packing > kMostPacked)
            return refuse("PACKING", value, "at most how many accesses share an injected call, from 1 to 16 (the default)");
    }
    if (const std::string value = get("STALL"); !value.empty()) {
        if (value != "report" && value != "exit")
            return refuse("STALL", value, "report says that a kernel makes no progress (the default), exit also ends the program");
        options.exit_on_stall = value == "exit";
    }
    options.output = get("SNOOPIE_OUTPUT");
    if (const std::string error = check_output_pattern(options.output); !error.empty())
        return refuse("SNOOPIE_OUTPUT", options.output, error);
    if (const std::string value = get("DISASSEMBLY_CACHE"); !value.empty()) {
        if (value != "0" && value != "1")
            return refuse("DISASSEMBLY_CACHE", value, "1 keeps what nvdisasm says for later runs (the default), 0 does not");
        options.disassembly_cache = value == "1";
    }
    if (const std::string value = get("CALLS"); !value.empty()) {
        const auto found = std::find(std::begin(kCallsTexts), std::end(kCallsTexts), value);
        if (found == std::end(kCallsTexts))
            return refuse("CALLS", value,
                          "summary adds up the program's driver calls (the default), all also writes each of them, off neither");
        options.calls = static_cast<Calls>(found - kCallsTexts);
    }
    // Used by `disassemble`, which runs too often to complain of it.
    if (const std::string value = get("SNOOPIE_CACHE_SIZE"); !value.empty() && !parse_byte_size(value))
        return refuse("SNOOPIE_CACHE_SIZE", value, kByteSizeForm);
    return options;
}

}  // namespace snoopie
