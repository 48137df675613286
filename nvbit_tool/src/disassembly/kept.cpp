#include "disassembly/kept.h"

#include <charconv>
#include <utility>

#include "base/files.h"
#include "disassembly/addresses.h"

namespace snoopie {

KeptRun::KeptRun(const Cache& cache, std::string program, Arguments arguments)
    : cache_(cache),
      program_(std::move(program)),
      arguments_(std::move(arguments)),
      code_(code_of(arguments_)),
      key_(code_ ? disassembly_key(program_, arguments_, without_addresses(code_->bytes, code_->architecture)) : exact_key()) {}

std::string KeptRun::exact_key() const { return disassembly_key(program_, arguments_); }

std::optional<KeptRun::Code> KeptRun::code_of(const Arguments& arguments) {
    constexpr std::string_view kPrefix = "SM";
    if (arguments.size() != 3 || arguments[0] != "-b" || arguments[1].rfind(kPrefix, 0) != 0) return std::nullopt;
    const char* const end = arguments[1].data() + arguments[1].size();
    Code code{};
    const auto [stop, error] = std::from_chars(arguments[1].data() + kPrefix.size(), end, code.architecture);
    auto bytes = read_file(arguments[2]);
    if (error != std::errc() || stop != end || !bytes) return std::nullopt;
    code.bytes = std::move(*bytes);
    return code;
}

std::optional<Output> KeptRun::with_own_addresses(Output output) const {
    auto listing = with_addresses(output.out, code_->bytes, code_->architecture);
    if (!listing) return std::nullopt;
    output.out = std::move(*listing);
    return output;
}

std::optional<Output> KeptRun::find() const {
    std::optional<Output> found = cache_.find(key_);
    if (!code_) return found;
    if (found) found = with_own_addresses(std::move(*found));
    if (found) return found;
    const std::string key = exact_key();
    return key.empty() ? std::nullopt : cache_.find(key);
}

void KeptRun::keep(const Output& output) const {
    if (mentions_input(output, arguments_)) return;
    // Only where the numbers stand as they are expected to: what is put together from it is then what nvdisasm would say.
    const std::optional<Output> same = code_ ? with_own_addresses(output) : output;
    const std::string key = same && same->out == output.out ? key_ : exact_key();
    if (!key.empty()) cache_.store(key, output);
}

}  // namespace snoopie
