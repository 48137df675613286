// Text that the collector writes, and text and files that it reads: JSON, source files, the disassembly cache.
#include <cstdlib>
#include <string>

#include "disassembly/addresses.h"
#include "disassembly/cache.h"
#include "stacks/source_text.h"
#include "target.h"
#include "trace/json.h"

using namespace snoopie;

namespace {

// Length of the UTF-8 at the beginning, 0 if it is none: by the table of the Unicode standard, written again.
size_t utf8(std::string_view text) {
    const auto in = [&](size_t i, unsigned first, unsigned last) {
        return i < text.size() && static_cast<uint8_t>(text[i]) >= first && static_cast<uint8_t>(text[i]) <= last;
    };
    const auto tails = [&](size_t from, size_t to) {
        for (size_t i = from; i < to; ++i)
            if (!in(i, 0x80, 0xBF)) return false;
        return true;
    };
    if (in(0, 0x20, 0x7E)) return 1;
    if (in(0, 0x7F, 0x7F)) return 1;
    if (in(0, 0xC2, 0xDF) && tails(1, 2)) return 2;
    if (((in(0, 0xE0, 0xE0) && in(1, 0xA0, 0xBF)) || (in(0, 0xED, 0xED) && in(1, 0x80, 0x9F)) ||
         ((in(0, 0xE1, 0xEC) || in(0, 0xEE, 0xEF)) && tails(1, 2))) &&
        tails(2, 3))
        return 3;
    if (((in(0, 0xF0, 0xF0) && in(1, 0x90, 0xBF)) || (in(0, 0xF4, 0xF4) && in(1, 0x80, 0x8F)) || (in(0, 0xF1, 0xF3) && tails(1, 2))) &&
        tails(2, 4))
        return 4;
    return 0;
}

// Whether this is one string of JSON.
bool is_json_string(std::string_view text) {
    if (text.size() < 2 || text.front() != '"' || text.back() != '"') return false;
    text = text.substr(1, text.size() - 2);
    while (!text.empty()) {
        size_t length = 1;
        if (text[0] == '\\') {
            if (text.size() > 1 && (text[1] == '"' || text[1] == '\\'))
                length = 2;
            else if (text.size() > 5 && text.substr(1, 3) == "u00" && std::isxdigit(text[4]) && std::isxdigit(text[5]))
                length = 6;
            else
                return false;
        } else {
            length = text[0] == '"' ? 0 : utf8(text);
        }
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

}  // namespace

FUZZ_TARGET(json) {
    const std::string quoted = json_quote(input);
    fuzz::require(is_json_string(quoted), "what is quoted is a string of JSON");
    JsonWriter writer;
    writer.begin_object().member(input, input).key("x").begin_array().value(1).value(true).value(input).end_array().end_object();
    fuzz::require(writer.text() == "{" + quoted + ":" + quoted + ",\"x\":[1,true," + quoted + "]}", "members stand in order");
}

// The last letter says which language it is.
FUZZ_TARGET(source) {
    const std::string& path = fuzz::file_of(input, !input.empty() && input.back() % 2 ? "source.py" : "source.cu");
    SourceText text;
    for (uint32_t line = 0; line < 12; ++line)
        fuzz::require(text.statement(path, line).size() <= SourceText::kMostCharacters, "a statement is short");
    text.statement(path, UINT32_MAX);
}

FUZZ_TARGET(cache) {
    const std::string& path = fuzz::file_of(input, "entry.zst");
    const Cache cache(path.substr(0, path.rfind('/')), uint64_t{1} << 30);
    const auto found = cache.find("entry");
    if (!found) return;
    fuzz::require(found->out.size() + found->err.size() < uint64_t{1} << 32, "an entry is no larger than memory");
    // As the listing of code, which stderr stands for.
    for (const int architecture : {89, 90}) {
        const auto listing = with_addresses(found->out, found->err, architecture);
        if (listing) fuzz::require(with_addresses(*listing, found->err, architecture) == listing, "a listing has its code's addresses");
    }
}
