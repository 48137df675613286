// What the cache of disassembly knows, without starting a program, and the addresses in code.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>

#include "check.h"
#include "disassembly/addresses.h"
#include "disassembly/cache.h"
#include "disassembly/kept.h"
#include "disassembly/known.h"
#include "disassembly/nvdisasm.h"

using namespace snoopie;

namespace {

std::string folder;

std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder + "/" + name;
    std::ofstream(path) << text;
    return path;
}

std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void known() {
    const std::string nvdisasm = write("nvdisasm", "#!/bin/false\n");
    chmod(nvdisasm.c_str(), 0755);
    setenv("SNOOPIE_NVDISASM", nvdisasm.c_str(), 1);
    setenv("SNOOPIE_CACHE", (folder + "/cache").c_str(), 1);
    const std::string code = write("code", "instructions");
    const std::string same = write("same", "instructions");
    const std::string other = write("other", "others");
    const std::string to = write("to", "what was there before, and is longer");
    const std::string word = "/opt/snoopie/disassemble";
    const auto command = [&](const std::string& from) { return word + " -b SM90 " + from + " > " + to + ";"; };

    CHECK(!disassembled_from_cache(command(code), word));
    CHECK(!is_in_cache("SM90", code));
    const auto keep = [&](const std::string& file, const Output& output) {
        KeptRun(*open_cache(), nvdisasm, {"-b", "SM90", file}).keep(output);
    };
    keep(code, {"disassembly\n", ""});
    CHECK(is_in_cache("SM90", same));
    CHECK(!is_in_cache("SM100", code));
    CHECK(!is_in_cache("SM90", other));
    CHECK(!disassembled_from_cache(command(other), word));
    CHECK_EQ(content(to), "what was there before, and is longer");
    CHECK(disassembled_from_cache(command(same), word));
    CHECK_EQ(content(to), "disassembly\n");

    // Another command, or what a shell would read otherwise.
    for (const std::string& one :
         {"which " + word + " > /dev/null", word + " -b SM90 " + code + " > " + to, word + " -b SM90 " + code + " > " + to + "; true",
          word + " -b SM90 " + code + " >> " + to + ";", word + " -b SM90 $HOME > " + to + ";",
          word + " -b SM90 " + code + " > \"" + to + "\";", word + " -c " + code + " > " + to + ";", std::string()})
        CHECK(!disassembled_from_cache(one, word));
    CHECK(!disassembled_from_cache(command(code), "/opt/snoopie/another"));
    CHECK(!disassembled_from_cache(command(code), ""));
    CHECK(!disassembled_from_cache(word + " -b SM90 " + code + " > " + folder + "/no/folder;", word));
    // What nvdisasm complained of is for the user to see.
    keep(other, {"", "a warning"});
    CHECK(!disassembled_from_cache(command(other), word));
    setenv("SNOOPIE_CACHE_SIZE", "0", 1);
    CHECK(!disassembled_from_cache(command(code), word));
}

using Word = unsigned __int128;

constexpr Word word(uint64_t low, uint64_t high) { return Word{high} << 64 | low; }

// As ptxas makes them for sm_90, with 0 for what the driver writes.
constexpr Word kMove = word(0x0000000000147802, 0x000fe20000000f00);         // MOV R20, 0x0
constexpr Word kUniformMove = word(0x0000000000087882, 0x000fe20000000000);  // UMOV UR8, 0x0
constexpr Word kCall = word(0x0000000000007943, 0x005fea0003c00000);         // CALL.ABS.NOINC 0x0
constexpr Word kNop = word(0x0000000000007918, 0x000fc00000000000);

std::string code_of(std::initializer_list<Word> words) {
    std::string code;
    for (const Word one : words) code.append(reinterpret_cast<const char*>(&one), sizeof one);
    return code;
}

// The address without its last two bits: all of it from bit 34 on, or the first eight from bit 16 on.
constexpr Word call(uint64_t address) { return kCall | Word{address >> 2} << 34; }
constexpr Word split_call(uint64_t address) { return kCall | Word{address >> 2 & 0xff} << 16 | Word{address >> 10} << 34; }

void addresses() {
    const std::string none = code_of({kMove, kNop, kUniformMove, kCall});
    const auto loaded = [](Word call) { return code_of({kMove | Word{0x6d2e1234} << 32, kNop, kUniformMove | Word{0x7f12} << 32, call}); };
    constexpr uint64_t kTarget = 0x7f126d2e1a04;
    CHECK_EQ(without_addresses(loaded(split_call(kTarget)), 90), none);
    CHECK_EQ(without_addresses(loaded(call(kTarget)), 80), none);
    CHECK(without_addresses(loaded(split_call(kTarget)), 80) != none);
    // What comes after whole instructions stays as it is.
    CHECK_EQ(without_addresses(none + "\x02\x78\x14", 90), none + "\x02\x78\x14");

    const std::string head = "\t.headerflags\t@\"EF_CUDA_SM90\"\n";
    const auto listing = [&](const char* low, const char* high, const char* target) {
        return head + "        /*0000*/                   MOV R20, " + low + " ;\n        /*0010*/                   NOP ;\n" +
               "        /*0020*/                   UMOV UR8, " + high + " ;\n        /*0030*/                   CALL.ABS.NOINC " + target +
               " ;\n";
    };
    const std::string known = listing("0x0", "0x7fff", "0x10");
    for (const auto& [architecture, word] : {std::pair(90, split_call(kTarget)), std::pair(120, split_call(kTarget)),
                                             std::pair(75, call(kTarget)), std::pair(89, call(kTarget))}) {
        const auto found = with_addresses(known, loaded(word), architecture);
        CHECK(found.has_value());
        CHECK_EQ(found.value_or(""), listing("0x6d2e1234", "0x7f12", "0x7f126d2e1a04"));
    }
    CHECK_EQ(with_addresses(known, none, 90).value_or(""), listing("0x0", "0x0", "0x0"));

    // A guard, a mask of lanes, no end of the last line.
    const std::string guarded = code_of({kMove | Word{0x1c} << 32});
    CHECK_EQ(with_addresses("/*0000*/  @!UP0 MOV R20, 0x1, 0x3 ;", guarded, 90).value_or(""), "/*0000*/  @!UP0 MOV R20, 0x1c, 0x3 ;");
    // Another instruction than expected, or not in its place.
    for (const char* other :
         {"", "/*0000*/ NOP ;\n", "/*0010*/ MOV R20, 0x0 ;\n", "/*0000*/ MOV R20, R4 ;\n", "/*0000*/ MOV R20, R4, 0x3 ;\n",
          "/*0000*/ MOV R20, 0x ;\n", "/*0000*/ MOV R20, 0x0", "/*0000*/ IMAD.MOV R20, 0x0 ;\n", "/*0000 MOV R20, 0x0 ;\n",
          "/*0000*/ MOV R20, 0x0 ;\n/*0010*/ NOP ;\n", "/*0000*/", "/*0000*/ @P0", "/**/ MOV R20, 0x0 ;\n"})
        CHECK(!with_addresses(other, guarded, 90));
    const std::string called = code_of({kCall});
    for (const char* other : {"/*0000*/ CALL.ABS.NOINC R4 ;\n", "/*0000*/ CALL.ABS.NOINC P6, 0x0 ;\n", "/*0000*/ CALL.REL.NOINC 0x0 ;\n"})
        CHECK(!with_addresses(other, called, 90));
}

// Code that is loaded to another address has the same disassembly, but for the address.
void kept_for_other_addresses() {
    const Cache cache(folder + "/addresses", uint64_t{1} << 20);
    const std::string nvdisasm = write("nvdisasm", "#!/bin/false\n");
    const auto run = [&](Word call, const char* architecture = "SM90") {
        static int files = 0;
        return KeptRun(cache, nvdisasm, {"-b", architecture, write("loaded" + std::to_string(++files), code_of({kNop, call}))});
    };
    const auto said = [](const std::string& target) { return "/*0000*/ NOP ;\n/*0010*/ CALL.ABS.NOINC " + target + " ;\n"; };

    run(split_call(0x7f0000000400)).keep({said("0x7f0000000400"), ""});
    CHECK_EQ(run(split_call(0x7e1234567890)).find().value_or(Output{}).out, said("0x7e1234567890"));
    CHECK(!run(split_call(0x7e1234567890), "SM100").find());
    CHECK(!run(split_call(0x7e1234567890), "SM90x").find());
    CHECK(!run(split_call(0x7e1234567890) ^ Word{1} << 12).find());  // another guard

    // Where the numbers do not stand as expected, an output is for that very code.
    run(call(0x7f0000000400), "SM120").keep({said("0x7f0000000400"), ""});
    CHECK(run(call(0x7f0000000400), "SM120").find().has_value());
    CHECK(!run(call(0x7e1234567890), "SM120").find());
}

}  // namespace

int main() {
    std::string place = "/tmp/snoopie-disassembly-XXXXXX";
    folder = mkdtemp(place.data());
    known();
    addresses();
    kept_for_other_addresses();
    std::system(("rm -r " + folder).c_str());
    return test::summary("disassembly");
}
