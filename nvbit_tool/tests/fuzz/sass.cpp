// Disassembly: lines, what they do, blocks, guards, what addresses are made of, where code waits, and which
// accesses share a call.
#include "code/sass.h"

#include <string>
#include <vector>

#include "code/common_guard.h"
#include "code/listing.h"
#include "code/opcode.h"
#include "code/polling.h"
#include "code/probe_packing.h"
#include "code/roots.h"
#include "target.h"

using namespace snoopie;

// An instruction a line. Their places are 16 bytes apart, and the parameters where they are for sm_90.
FUZZ_TARGET(sass) {
    const std::vector<std::string> texts = fuzz::lines_of(input);
    std::vector<std::string_view> views(texts.begin(), texts.end());
    std::vector<uint32_t> offsets;
    for (size_t i = 0; i < texts.size(); ++i) offsets.push_back(static_cast<uint32_t>(16 * i));
    const Listing listing = listing_of(offsets, views);
    fuzz::require(listing.lines.size() == texts.size() && listing.effects.size() == texts.size(), "each text has a line and an effect");
    fuzz::require(listing.begins.empty() || listing.begins.size() == texts.size(), "each line begins a block or does not");

    std::vector<AddressOperand> addresses;
    std::vector<PackableAccess> accesses;
    for (size_t i = 0; i < texts.size(); ++i) {
        if (!listing.lines[i]) continue;
        const SassLine& line = *listing.lines[i];
        for (const std::string_view operand : line.operands)
            fuzz::require(operand.data() >= views[i].data() && operand.data() + operand.size() <= views[i].data() + views[i].size(),
                          "operands are in the text");
        const Opcode opcode = decode_opcode(views[i].substr(0, views[i].find(' ')), i % 2 == 0);
        fuzz::require(opcode.width <= 32, "a lane accesses at most 32 bytes");
        has_common_guard(listing, i);
        for (size_t reference = 0; reference < 2; ++reference)
            if (const auto operand = address_operand(line, reference)) {
                fuzz::require(*operand < line.operands.size(), "an address is one of the operands");
                addresses.push_back({i, *operand});
                accesses.push_back({i, static_cast<int>(i * 2 % 254), line.guard, line.guard_negated, static_cast<int>(i % 2)});
            }
    }
    for (const std::optional<ParameterArea>& area : {std::optional<ParameterArea>(), std::optional(ParameterArea{0x210, 0x40})}) {
        LaunchPaths paths;
        const std::vector<Roots> all = roots_of(listing, area, addresses, &paths);
        fuzz::require(all.size() == addresses.size(), "each address has its roots");
        const std::vector<bool> most = paths.reached("");
        const std::vector<bool> reached = paths.reached(std::string(0x40, '\3'));
        for (size_t i = 0; i < reached.size(); ++i) fuzz::require(most[i] || !reached[i], "what is not known leaves all ways open");
        for (const Roots& roots : all)
            for (const uint32_t place : roots.unknown_at)
                fuzz::require(place < reached.size(), "an address is unknown at places of the code");
    }
    for (const Poll& poll : find_polls(listing)) {
        fuzz::require(!poll.loads.empty() && !poll.exits.empty() && poll.begin < poll.end && poll.end <= texts.size(), "a poll is a loop");
        for (const size_t load : poll.loads) fuzz::require(poll.begin <= load && load < poll.end, "what it loads is in the loop");
        for (const Poll::Exit& exit : poll.exits)
            fuzz::require(poll.begin <= exit.instruction && exit.instruction < poll.end, "the loop is left from within");
    }
    if (listing.begins.empty()) return;
    size_t packed = 0;
    for (const Pack& pack : pack_accesses(listing.effects, listing.begins, accesses, 4)) {
        fuzz::require(pack.accesses.size() <= 4 && !pack.accesses.empty(), "one to four accesses share a call");
        packed += pack.accesses.size();
    }
    fuzz::require(packed == accesses.size(), "each access has one call");
}
