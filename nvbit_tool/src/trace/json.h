// A writer for the two JSON blocks of a trace. Strings are escaped, and bytes that are not UTF-8 replaced, because command lines and
// paths can hold anything and a trace must stay readable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace snoopie {

std::string json_quote(std::string_view text);

class JsonWriter {
  public:
    JsonWriter& begin_object() { return open('{'); }
    JsonWriter& end_object() { return close('}'); }
    JsonWriter& begin_array() { return open('['); }
    JsonWriter& end_array() { return close(']'); }
    JsonWriter& key(std::string_view name);
    JsonWriter& value(std::string_view text) { return raw(json_quote(text)); }
    JsonWriter& value(const char* text) { return value(std::string_view(text)); }
    JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
    JsonWriter& value(bool flag) { return raw(flag ? "true" : "false"); }
    JsonWriter& value(int number) { return raw(std::to_string(number)); }
    JsonWriter& value(uint32_t number) { return raw(std::to_string(number)); }
    JsonWriter& value(int64_t number) { return raw(std::to_string(number)); }
    JsonWriter& value(uint64_t number) { return raw(std::to_string(number)); }
    // Text that is JSON already.
    JsonWriter& raw(std::string_view json);

    template <class T>
    JsonWriter& member(std::string_view name, const T& v) {
        key(name);
        return value(v);
    }

    const std::string& text() const { return text_; }

  private:
    JsonWriter& open(char bracket);
    JsonWriter& close(char bracket);

    std::string text_;
    bool first_ = true;
};

}  // namespace snoopie
