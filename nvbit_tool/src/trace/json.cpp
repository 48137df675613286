#include "trace/json.h"

#include <cstdio>

namespace snoopie {

namespace {

// Length of the well-formed UTF-8 sequence at `text`, 0 if there is none.
size_t utf8_sequence(std::string_view text) {
    const auto at = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const auto tail = [&](size_t i) { return (at(i) & 0xC0u) == 0x80u; };
    const unsigned lead = at(0);
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        const bool overlong = lead == 0xE0 && at(1) < 0xA0;
        const bool surrogate = lead == 0xED && at(1) >= 0xA0;
        return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        const bool overlong = lead == 0xF0 && at(1) < 0x90;
        const bool beyond = lead == 0xF4 && at(1) >= 0x90;
        return tail(1) && tail(2) && tail(3) && !overlong && !beyond ? 4 : 0;
    }
    return 0;
}

}  // namespace

std::string json_quote(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const char c = text[0];
        size_t length = utf8_sequence(text);
        if (length == 0) {
            out += "\xEF\xBF\xBD";  // U+FFFD
            length = 1;
        } else if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", c);
            out += escape;
        } else {
            out.append(text.substr(0, length));
        }
        text.remove_prefix(length);
    }
    return out + '"';
}

JsonWriter& JsonWriter::key(std::string_view name) {
    raw(json_quote(name));
    text_ += ':';
    first_ = true;
    return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
    if (!first_) text_ += ',';
    first_ = false;
    text_ += json;
    return *this;
}

JsonWriter& JsonWriter::open(char bracket) {
    raw(std::string_view(&bracket, 1));
    first_ = true;
    return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
}

}  // namespace snoopie
