// What the cache of disassembly knows, without starting a program.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "check.h"
#include "disassembly/cache.h"
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
    open_cache()->store(disassembly_key(nvdisasm, {"-b", "SM90", code}), {"disassembly\n", ""});
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
    open_cache()->store(disassembly_key(nvdisasm, {"-b", "SM90", other}), {"", "a warning"});
    CHECK(!disassembled_from_cache(command(other), word));
    setenv("SNOOPIE_CACHE_SIZE", "0", 1);
    CHECK(!disassembled_from_cache(command(code), word));
}

}  // namespace

int main() {
    std::string place = "/tmp/snoopie-disassembly-XXXXXX";
    folder = mkdtemp(place.data());
    known();
    std::system(("rm -r " + folder).c_str());
    return test::summary("disassembly");
}
