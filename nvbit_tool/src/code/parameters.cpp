#include "code/parameters.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "code/function_info.h"

namespace snoopie {

namespace {

std::optional<KernelParameters> parameters_in(std::string_view section) {
    constexpr uint8_t kArea = 0x0a;       // a symbol; then two bytes for the base and two for the size
    constexpr uint8_t kParameter = 0x17;  // an index; then two bytes for the ordinal, two for the offset, and the size above 18 other bits
    constexpr uint32_t kSizeShift = 18;
    KernelParameters parameters;
    bool has_area = false;
    bool damaged = false;
    std::map<uint16_t, KernelParameters::One> found;
    const bool whole = visit_attributes(section, [&](uint8_t kind, Reader value) {
        value.read<uint32_t>();
        if (kind == kArea) {
            parameters.area.base = value.read<uint16_t>();
            parameters.area.bytes = value.read<uint16_t>();
            has_area = value.ok();
        } else if (kind == kParameter) {
            const auto ordinal = value.read<uint16_t>();
            const auto offset = value.read<uint16_t>();
            const auto bytes = value.read<uint32_t>() >> kSizeShift;
            damaged |= !value.ok();
            found[ordinal] = {offset, bytes};
        }
    });
    if (!whole || damaged || !has_area) return std::nullopt;
    uint32_t end = 0;
    for (const auto& [ordinal, one] : found) {
        if (ordinal != parameters.list.size() || one.offset + one.bytes > parameters.area.bytes) return std::nullopt;
        parameters.list.push_back(one);
        end = one.offset + one.bytes;
    }
    // More than 4 KiB of them are told in another form: what is not known here would be taken for nought.
    if (end != parameters.area.bytes) return std::nullopt;
    return parameters;
}

}  // namespace

std::unordered_map<std::string, KernelParameters> parameters_of(const Cubin& cubin) {
    std::unordered_map<std::string, KernelParameters> found;
    for (const auto& [kernel, section] : cubin.sections(".nv.info."))
        if (auto parameters = parameters_in(section)) found.emplace(kernel, std::move(*parameters));
    return found;
}

}  // namespace snoopie
