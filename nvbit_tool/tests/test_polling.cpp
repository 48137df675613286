// Where kernels wait: code whose waits are known by its source, as three generations of GPUs have it.
#include "code/polling.h"

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "check.h"
#include "test_data.h"

using namespace snoopie;

namespace {

struct Function {
    std::vector<std::string> texts;
    std::vector<uint32_t> offsets;
};

// By "name architecture".
std::map<std::string, Function> functions_in(const std::string& text) {
    std::map<std::string, Function> functions;
    std::istringstream lines(text);
    Function* function = nullptr;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string first, architecture, name;
        words >> first;
        if (first == "!") continue;  // where an indirect branch can go
        if (first != "#") {
            function->offsets.push_back(static_cast<uint32_t>(std::stoul(first, nullptr, 16)));
            function->texts.push_back(line.substr(first.size() + 1));
        } else if (words >> architecture >> name && architecture.substr(0, 3) == "sm_") {
            function = &functions[name + " " + architecture];
        }
    }
    return functions;
}

Listing listing_of_function(const Function& function) {
    return listing_of(function.offsets, {function.texts.begin(), function.texts.end()});
}

// "LDG/2 ATOMG/1": of each poll the first load's name and how many branches it decides.
std::string summary(const Function& function) {
    const Listing listing = listing_of_function(function);
    std::string text;
    for (const Poll& poll : find_polls(listing)) {
        text += text.empty() ? "" : " ";
        text += std::string(listing.lines[poll.loads.front()]->name) + "/" + std::to_string(poll.exits.size());
        if (poll.loads.size() > 1) text += "x" + std::to_string(poll.loads.size());
    }
    return text;
}

void kernels() {
    const std::map<std::string, std::string> expected = {
        {"spin_volatile", "LDG/1"},
        {"spin_acquire", "LDG/1"},
        {"spin_last", "LDG/1"},
        {"spin_sleep", "LDG/1"},
        {"spin_cas", "ATOMG/1"},
        {"spin_exchange", "ATOMG/1"},
        {"spin_add_zero", "ATOMG/1"},
        {"spin_unrolled", "LDG/4x4"},
        {"spin_timeout", "LDG/1"},
        {"spin_trap", "ATOMG/1"},
        {"spin_abort", "LDG/1"},
        {"spin_multimem", "LDGMC/1x2"},
        {"spin_ll", "LDG/1"},
        {"spin_vote", "LDG/1"},
        {"spin_each", "LDG/1"},
        {"spin_both", "LDG/1 LDG/1"},
        {"spin_thread", "LDG/1"},
        {"spin_persistent", "LDG/1"},
        {"spin_generic", "LD/1"},
        {"spin_shared", "LDG/1"},
        {"spin_wait", "LD/1 LD/1"},
        {"grid_barrier", "LD/1"},
        {"no_sum", ""},
        {"no_list", ""},
        {"no_search", ""},
        {"no_retry", ""},
        {"no_least", ""},
        {"no_counted", ""},
        {"no_work", ""},
        {"no_queue", ""},
    };
    const auto functions = functions_in(test::read("polls.txt"));
    CHECK_EQ(functions.size(), 3 * expected.size());
    for (const auto& [name, function] : functions) {
        const std::string kernel = name.substr(0, name.find(' '));
        // Older GPUs have no loads of several at once.
        const bool is_plain = name == "spin_multimem sm_80";
        CHECK_EQ(name + ": " + summary(function), name + ": " + (is_plain ? "LDG/1" : expected.at(kernel)));
    }
}

// No kernel of the other listing waits.
void other_code() {
    for (const auto& [name, function] : functions_in(test::read("roots.txt"))) CHECK_EQ(name + summary(function), name);
}

Function code(const std::vector<std::string>& texts) {
    Function function;
    function.texts = texts;
    for (size_t i = 0; i < texts.size(); ++i) function.offsets.push_back(static_cast<uint32_t>(16 * i));
    return function;
}

void which_lanes_stay() {
    const Function at_the_end = code({"LDG.E.STRONG.SYS R0, desc[UR4][R2.64]", "ISETP.NE.AND P0, PT, R0, RZ, PT", "@!P0 BRA 0x0", "EXIT"});
    const Listing end = listing_of_function(at_the_end);
    const std::vector<Poll> polls = find_polls(end);
    CHECK_EQ(polls.size(), 1u);
    CHECK_EQ(polls[0].loads.front(), 0u);
    CHECK_EQ(polls[0].exits[0].instruction, 2u);
    CHECK(polls[0].exits[0].branch_stays);
    CHECK_EQ(polls[0].begin, 0u);
    CHECK_EQ(polls[0].end, 3u);

    const Function in_the_middle =
        code({"LDG.E.STRONG.SYS R0, desc[UR4][R2.64]", "ISETP.NE.AND P0, PT, R0, RZ, PT", "@P0 EXIT", "NANOSLEEP 0x20", "BRA 0x0"});
    const Listing middle = listing_of_function(in_the_middle);
    const std::vector<Poll> exits = find_polls(middle);
    CHECK_EQ(exits.size(), 1u);
    CHECK_EQ(exits[0].exits[0].instruction, 2u);
    CHECK(!exits[0].exits[0].branch_stays);
}

void what_a_branch_asks() {
    const auto asked = [](const std::string& text) { return branch_predicate(*parse_sass(text)); };
    CHECK(!asked("@!P0 BRA 0x40"));
    CHECK_EQ(asked("@!P0 BRA P1, 0x40")->number, 1);
    CHECK(!asked("@!P0 BRA P1, 0x40")->negated && !asked("@!P0 BRA P1, 0x40")->uniform);
    CHECK(asked("BRA.U !UP2, 0x40")->uniform && asked("BRA.U !UP2, 0x40")->negated);
    CHECK_EQ(asked("BRA.U !UP2, 0x40")->number, 2);
}

// Each differs from a wait by one thing.
void no_polls() {
    const auto none = [](const std::vector<std::string>& texts) {
        const Function function = code(texts);
        return find_polls(listing_of_function(function)).empty();
    };
    const std::string load = "LDG.E.STRONG.SYS R0, desc[UR4][R2.64]";
    const std::string compare = "ISETP.NE.AND P0, PT, R0, RZ, PT";
    const std::string back = "@!P0 BRA 0x0";
    CHECK(!none({load, compare, back, "EXIT"}));
    CHECK(none({"LDG.E R0, desc[UR4][R2.64]", compare, back, "EXIT"}));
    CHECK(none({load, compare, "STG.E desc[UR4][R6.64], R0", back, "EXIT"}));
    CHECK(none({load, compare, "BAR.SYNC.DEFER_BLOCKING 0x0", back, "EXIT"}));
    CHECK(none({load, compare, "IADD3 R2, R2, 0x4, RZ", back, "EXIT"}));
    CHECK(none({load, "ISETP.NE.AND P0, PT, R5, RZ, PT", back, "EXIT"}));
    CHECK(none({load, compare, "SOMETHING.NEW R9, R8", back, "EXIT"}));
    CHECK(none({load, compare, "@!P0 BRA 0x30", "EXIT"}));
    CHECK(none({"ATOMG.E.ADD.STRONG.GPU PT, R0, desc[UR4][R2.64], R5", compare, back, "EXIT"}));
    CHECK(none({"ATOMG.E.CAS.STRONG.GPU PT, R0, [R2], R5, R6", "ISETP.EQ.AND P0, PT, R0, R5, PT", "MOV R5, R0", back, "EXIT"}));
    // The loop can be entered in its middle: what it loads before that says nothing.
    CHECK(none({"@P1 BRA 0x20", load, compare, "@!P0 BRA 0x10", "EXIT"}));
}

}  // namespace

int main() {
    kernels();
    other_code();
    which_lanes_stay();
    what_a_branch_asks();
    no_polls();
    return test::summary("polling");
}
