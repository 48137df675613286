#include "trace/catalog.h"

#include "trace/site_word.h"

namespace snoopie {

namespace {

// What makes two functions the same: name and every site. (Two modules may hold different code under one name.)
std::string identity(const FunctionDescription& function) {
    std::string text = function.mangled;
    for (const SiteDescription& site : function.sites) text += '\n' + std::to_string(site.offset) + ' ' + site.sass;
    return text;
}

}  // namespace

Catalog::Entry Catalog::add(const FunctionDescription& function) {
    if (sources_)
        for (const SiteDescription& site : function.sites)
            for (const CodeLine& line : site.lines) sources_->seen(line.file);
    std::unique_lock lock(mutex_);
    const auto [slot, is_new] = functions_.try_emplace(identity(function));
    Entry& entry = slot->second;
    if (!is_new) return entry;
    const uint32_t count = static_cast<uint32_t>(function.sites.size());
    entry = {static_cast<uint32_t>(functions_.size()), count ? static_cast<uint32_t>(full_units_.size() + 1) : 0, count};

    function_names_.push_back(function.name);
    FunctionRow row;
    row.id = entry.function;
    row.name = writer_->intern(function.name);
    row.mangled = writer_->intern(function.mangled);
    row.kernel = function.kernel;
    row.has_lines = function.has_lines;
    row.first_site = entry.first_site;
    row.sites = count;
    writer_->append(row);

    for (uint32_t i = 0; i < count; ++i) {
        const SiteDescription& site = function.sites[i];
        SiteRow out;
        out.id = entry.first_site + i;
        out.function = entry.function;
        out.offset = site.offset;
        out.sass = writer_->intern(site.sass);
        out.opcode = writer_->intern(site.opcode);
        out.operation = static_cast<u1>(site.operation);
        out.width = site.width;
        out.measured = site.measured;
        out.line = line_id(site.lines);
        out.wire_unit = wire_unit(site.operation, site.width);
        writer_->append(out);
        site_lines_.push_back(out.line);
        full_units_.push_back(static_cast<uint8_t>(snoopie::full_units(site_word(0, site.operation, site.width))));
        known_sites_.push_back({entry.function, site.sass, site.operation, site.polls});
        if (!site.measured) ++unmeasured_;
    }
    return entry;
}

uint32_t Catalog::line_id(const LineChain& chain) {
    uint32_t id = 0;
    for (auto line = chain.rbegin(); line != chain.rend(); ++line) {
        const auto [slot, is_new] =
            lines_.try_emplace({line->file, line->line, line->function, id}, static_cast<uint32_t>(lines_.size() + 1));
        if (is_new) {
            writer_->append(LineRow{slot->second, writer_->intern(line->file), line->line, writer_->intern(line->function), id});
            known_lines_.push_back({line->file, line->line, id});
        }
        id = slot->second;
    }
    return id;
}

void Catalog::reached(const std::vector<uint32_t>& sites) {
    if (!sources_) return;
    std::vector<std::string> files;
    {
        std::unique_lock lock(mutex_);
        for (const uint32_t site : sites) {
            uint32_t id = site_lines_[site - 1];
            while (id && !known_lines_[id - 1].reached) {
                Line& line = known_lines_[id - 1];
                line.reached = true;
                files.push_back(line.file);
                id = line.inlined_at;
            }
        }
    }
    for (const std::string& file : files) sources_->reached(file);
}

Catalog::Name Catalog::name(uint32_t site) const {
    std::unique_lock lock(mutex_);
    if (site < 1 || site > known_sites_.size()) return {"an unknown place", ""};
    const Known& known = known_sites_[site - 1];
    const uint32_t line = site_lines_[site - 1];
    if (line == 0) return {function_names_[known.function - 1], known.instruction};
    const auto said = [](const Line& at) { return at.file.substr(at.file.rfind('/') + 1) + ":" + std::to_string(at.number); };
    const Line* outermost = &known_lines_[line - 1];
    std::string place = said(*outermost);
    if (outermost->inlined_at == 0) return {place, known.instruction};
    while (outermost->inlined_at) outermost = &known_lines_[outermost->inlined_at - 1];
    return {place + ", inlined at " + said(*outermost), known.instruction};
}

bool Catalog::writes(uint32_t site) const {
    std::unique_lock lock(mutex_);
    return site >= 1 && site <= known_sites_.size() && known_sites_[site - 1].operation != Operation::load;
}

bool Catalog::polls(uint32_t site) const {
    std::unique_lock lock(mutex_);
    return site >= 1 && site <= known_sites_.size() && known_sites_[site - 1].polls;
}

uint32_t Catalog::full_units(uint32_t site) const {
    std::unique_lock lock(mutex_);
    return site >= 1 && site <= full_units_.size() ? full_units_[site - 1] : 0;
}

uint64_t Catalog::unmeasured_sites() const {
    std::unique_lock lock(mutex_);
    return unmeasured_;
}

}  // namespace snoopie
