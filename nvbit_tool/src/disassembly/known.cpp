#include "disassembly/known.h"

#include <fcntl.h>

#include <cctype>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>

#include "base/files.h"
#include "disassembly/cache.h"
#include "disassembly/kept.h"
#include "disassembly/nvdisasm.h"

namespace snoopie {

namespace {

// The next word, up to a blank or ";"; none if the shell would read it otherwise than it stands there.
std::optional<std::string> take_word(std::string_view* text) {
    size_t end = 0;
    while (end < text->size() && (std::isalnum(static_cast<unsigned char>((*text)[end])) || std::strchr("/._-", (*text)[end]))) ++end;
    if (end == 0) return std::nullopt;
    const std::string word(text->substr(0, end));
    text->remove_prefix(end);
    return word;
}

bool take(std::string_view* text, std::string_view expected) {
    if (text->substr(0, expected.size()) != expected) return false;
    text->remove_prefix(expected.size());
    return true;
}

std::optional<Output> find(const std::string& architecture, const std::string& file) {
    const std::optional<Cache> cache = open_cache();
    const std::string program = cache ? find_nvdisasm() : "";
    if (program.empty()) return std::nullopt;
    const KeptRun run(*cache, program, {"-b", architecture, file});
    return run.can_be_kept() ? run.find() : std::nullopt;
}

}  // namespace

bool disassembled_from_cache(const std::string& command, const std::string& disassemble) try {
    std::string_view text = command;
    if (disassemble.empty() || !take(&text, disassemble) || !take(&text, " -b ")) return false;
    const auto architecture = take_word(&text);
    if (!architecture || !take(&text, " ")) return false;
    const auto from = take_word(&text);
    if (!from || !take(&text, " > ")) return false;
    const auto to = take_word(&text);
    if (!to || text != ";") return false;
    const std::optional<Output> known = find(*architecture, *from);
    if (!known || !known->err.empty()) return false;
    const Descriptor file(open(to->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    return file && write_whole(file.get(), known->out);
} catch (const std::exception&) {
    return false;  // out of memory
}

bool is_in_cache(const std::string& architecture, const std::string& file) try {
    return find(architecture, file).has_value();
} catch (const std::exception&) {
    return false;
}

}  // namespace snoopie
