// Stands in for nvdisasm, and remembers its outputs: NVBit runs nvdisasm once for every function, and hundreds of times for a large kernel.
//
//   disassemble ARGUMENTS...               what  nvdisasm ARGUMENTS...  does, from the cache if possible
//   disassemble --warm LIST [--jobs N]     fills the cache, N runs at a time: one run a line, its arguments separated by tabs
//
// What the cache lacks, an nvdisasm on standby says if it can (standby.h). The settings are among the collector's (settings/settings.h).
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "base/files.h"
#include "disassemble/running.h"
#include "disassemble/standby.h"
#include "disassembly/cache.h"
#include "disassembly/kept.h"
#include "disassembly/nvdisasm.h"

using namespace snoopie;

namespace {

int refuse(const std::string& sentence) {
    std::fprintf(stderr, "snoopie: %s\n", sentence.c_str());
    return 2;
}

// Ends as the program that had this wait status did.
int end_like(int status) {
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    std::signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

int show(const Output& output, int status) {
    if (write_whole(STDERR_FILENO, output.err) && write_whole(STDOUT_FILENO, output.out)) return end_like(status);
    std::perror("snoopie: cannot write the disassembly");
    return 1;
}

int disassemble(const std::string& program, const Arguments& arguments) {
    const std::optional<Cache> cache = open_cache();
    if (!cache) return become_nvdisasm(program, arguments);
    const KeptRun run(*cache, program, arguments);
    if (!run.can_be_kept()) return become_nvdisasm(program, arguments);
    if (const std::optional<Output> known = run.find()) return show(*known, 0);

    Output output;
    const int status = disassemble_quickly(*cache, program, arguments, &output);
    if (status < 0) return become_nvdisasm(program, arguments);
    if (status == 0) run.keep(output);
    return show(output, status);
}

// --- Filling the cache ---

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(separator, begin), text.size());
        if (end > begin) parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

// Whether the cache has the output now.
bool remember(const Cache& cache, const std::string& program, const Arguments& arguments) {
    const KeptRun run(cache, program, arguments);
    if (!run.can_be_kept()) return false;
    if (run.find()) return true;
    Output output;
    if (disassemble_quickly(cache, program, arguments, &output) != 0) return false;
    run.keep(output);
    return run.find().has_value();
}

int warm(const std::string& program, const std::string& list, unsigned jobs) {
    const std::optional<std::string> lines = read_file(list);
    if (!lines) return refuse("cannot read " + list);
    const std::optional<Cache> cache = open_cache();
    if (!cache) return refuse("there is no cache to fill: set SNOOPIE_CACHE to a folder, and SNOOPIE_CACHE_SIZE to more than 0");
    size_t failed = 0;
    unsigned running = 0;
    const auto wait_for_one = [&] {
        int status = 0;
        if (wait(&status) < 0 || status != 0) ++failed;
        --running;
    };
    const std::vector<std::string> runs = split(*lines, '\n');
    for (const std::string& run : runs) {
        if (running == jobs) wait_for_one();
        const pid_t child = fork();
        if (child == 0) _exit(remember(*cache, program, split(run, '\t')) ? 0 : 1);
        child < 0 ? ++failed : ++running;
    }
    while (running > 0) wait_for_one();
    if (failed == 0) return 0;
    std::fprintf(stderr, "snoopie: %zu of %zu disassemblies are not in the cache: nvdisasm failed, or the cache cannot be written\n",
                 failed, runs.size());
    return 1;
}

int warm(const std::string& program, const Arguments& arguments) {
    unsigned jobs = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    bool understood = arguments.size() == 2;
    if (arguments.size() == 4 && arguments[2] == "--jobs") {
        const std::string& text = arguments[3];
        const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), jobs);
        understood = error == std::errc() && stop == text.data() + text.size() && jobs > 0;
    }
    if (!understood) return refuse("usage: disassemble --warm LIST [--jobs N], with N from 1");
    return warm(program, arguments[1], jobs);
}

}  // namespace

int main(int argc, char** argv) {
    // Who starts this program may have decided to ignore the ends of its children; they are waited for here.
    std::signal(SIGCHLD, SIG_DFL);
    const std::string program = find_nvdisasm();
    if (program.empty()) {
        refuse("nvdisasm was not found: add the CUDA toolkit's bin to PATH, or name the program in SNOOPIE_NVDISASM");
        return 127;
    }
    const Arguments arguments(argv + 1, argv + argc);
    try {
        if (!arguments.empty() && arguments[0] == "--warm") return warm(program, arguments);
        return disassemble(program, arguments);
    } catch (const std::exception&) {
        // Out of memory; nothing has been shown yet.
        return become_nvdisasm(program, arguments);
    }
}
