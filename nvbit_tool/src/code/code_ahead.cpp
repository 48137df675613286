#include "code/code_ahead.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <thread>

#include "base/child_environment.h"
#include "base/files.h"
#include "code/cubin.h"
#include "disassembly/known.h"

namespace snoopie {

namespace {

// A file in memory, which a child opens by its path.
class MemoryFile {
  public:
    explicit MemoryFile(std::string_view bytes) : file_(memfd_create("snoopie-code", MFD_CLOEXEC)) { write_whole(file_.get(), bytes); }
    std::string path() const { return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_.get()); }

  private:
    const Descriptor file_;
};

}  // namespace

void disassemble_ahead(const std::string& disassemble, std::string_view module, const std::vector<std::string>& mangled,
                       const std::string& architecture) {
    std::string why_not;
    const std::optional<Cubin> cubin = Cubin::parse(module, &why_not);
    if (!cubin) return;
    std::deque<MemoryFile> codes;
    std::string list;
    size_t unknown = 0;
    for (const std::string& name : mangled) {
        const std::string_view code = cubin->bytes(".text." + name);
        if (code.empty()) continue;
        codes.emplace_back(code);
        if (is_in_cache(architecture, codes.back().path())) continue;
        ++unknown;
        list += "-b\t" + architecture + "\t" + codes.back().path() + "\n";
    }
    if (unknown < 2) return;
    const MemoryFile file(list);
    const std::string path = file.path();
    const std::string jobs = std::to_string(std::clamp(std::thread::hardware_concurrency(), 1u, 32u));
    const char* const arguments[] = {disassemble.c_str(), "--warm", path.c_str(), "--jobs", jobs.c_str(), nullptr};
    const std::vector<char*> environment = environment_without_preload();
    pid_t child = -1;
    if (posix_spawn(&child, disassemble.c_str(), nullptr, nullptr, const_cast<char* const*>(arguments), environment.data()) != 0) return;
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace snoopie
