#include "settings/block_filter.h"

#include <algorithm>
#include <charconv>

namespace snoopie {

namespace {

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

}  // namespace

bool parse_blocks(std::string_view text, BlockFilter* filter) {
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

}  // namespace snoopie
