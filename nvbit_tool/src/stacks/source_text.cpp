#include "stacks/source_text.h"

#include <string_view>

#include "base/files.h"

namespace snoopie {

namespace {

constexpr int kMostFolders = 4;
constexpr size_t kMostBytes = 8 << 20;  // of a file
constexpr size_t kMostKept = 64 << 20;  // of all

bool ends_with(std::string_view text, std::string_view ending) {
    return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

std::string_view trimmed(std::string_view text) {
    const size_t first = text.find_first_not_of(" \t\r\f\v");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\f\v") - first + 1);
}

// Looks for the end of a statement, line by line.
class Statement {
  public:
    explicit Statement(bool python) : python_(python) {}

    // Whether the statement, or the part of it that matters, ends with this line.
    bool ends_with(std::string_view line) {
        char quote = 0;
        for (size_t i = 0; i < line.size(); ++i) {
            const char c = line[i];
            if (quote) {
                if (c == '\\')
                    ++i;
                else if (c == quote)
                    quote = 0;
                continue;
            }
            if (c == '"' || c == '\'') {
                quote = c;
            } else if (python_ ? c == '#' : line.substr(i, 2) == "//") {
                break;
            } else if (c == '(' || c == '[') {
                ++depth_;
                bracket_ = true;
            } else if (c == ')' || c == ']') {
                --depth_;
            } else if (c == '{' || c == '}') {
                if (!python_) return true;
                depth_ += c == '{' ? 1 : -1;
            } else if (c == ';' && depth_ <= 0) {
                return true;
            }
        }
        if (python_) return depth_ <= 0 && (line.empty() || line.back() != '\\');
        // A call without a semicolon, as of a macro, ends with its brackets.
        return bracket_ && depth_ <= 0;
    }

  private:
    const bool python_;
    int depth_ = 0;
    bool bracket_ = false;
};

// Not more bytes than `most`, and no part of a character.
void shorten(std::string* text, size_t most) {
    if (text->size() <= most) return;
    while (most > 0 && (static_cast<unsigned char>((*text)[most]) & 0xC0) == 0x80) --most;
    text->resize(most);
}

}  // namespace

const SourceText::File& SourceText::file(const std::string& path) {
    const auto [slot, is_new] = files_.try_emplace(path);
    if (!is_new) return slot->second;
    File& file = slot->second;
    if (bytes_ < kMostKept) file.text = read_file(path, kMostBytes).value_or("");
    bytes_ += file.text.size();
    for (size_t start = 0; start < file.text.size();) {
        file.starts.push_back(start);
        const size_t end = file.text.find('\n', start);
        if (end == std::string::npos) break;
        start = end + 1;
    }
    return file;
}

std::string SourceText::statement(const std::string& path, uint32_t line, const std::string& module) {
    std::string text = statement(path, line);
    std::string folder = module;
    for (int up = 0; up < kMostFolders && text.empty() && !path.empty() && path[0] != '/'; ++up) {
        const size_t slash = folder.rfind('/');
        if (slash == std::string::npos || slash == 0) break;
        folder.resize(slash);
        text = statement(folder + '/' + path, line);
    }
    return text;
}

std::string SourceText::statement(const std::string& path, uint32_t line) {
    if (path.empty() || line == 0) return "";
    const File& source = file(path);
    Statement statement(::snoopie::ends_with(path, ".py"));
    std::string text;
    for (size_t i = line - 1; i < source.starts.size() && i < line - 1 + kMostLines; ++i) {
        const size_t start = source.starts[i];
        const size_t end = std::min(source.text.find('\n', start), source.text.size());
        const std::string_view part = trimmed(std::string_view(source.text).substr(start, end - start));
        if (!text.empty() && !part.empty()) text += ' ';
        text += part;
        if (statement.ends_with(part) || text.size() > kMostCharacters) break;
    }
    shorten(&text, kMostCharacters);
    return text;
}

}  // namespace snoopie
