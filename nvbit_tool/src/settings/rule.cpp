#include "settings/rule.h"

#include <algorithm>

namespace snoopie {

namespace {

std::string joined_with_or(std::string_view words) {
    const size_t count = static_cast<size_t>(std::count(words.begin(), words.end(), '|')) + 1;
    std::string text;
    for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : i + 1 == count ? " or " : ", ") + word_at(words, i);
    return text;
}

}  // namespace

std::string word_at(std::string_view words, size_t index) {
    for (; index > 0; --index) words.remove_prefix(std::min(words.find('|'), words.size() - 1) + 1);
    return std::string(words.substr(0, words.find('|')));
}

std::optional<size_t> find_word(std::string_view words, std::string_view word) {
    const size_t count = static_cast<size_t>(std::count(words.begin(), words.end(), '|')) + 1;
    for (size_t i = 0; i < count; ++i)
        if (word_at(words, i) == word) return i;
    return std::nullopt;
}

std::string Rule::allowed() const {
    switch (kind) {
        case Kind::number:
            return "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
        case Kind::text:
            return form;
        default:
            return joined_with_or(words);
    }
}

}  // namespace snoopie
