// Which run a process belongs to: what all processes of it have in common, so that a reader can tell it from other runs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

namespace snoopie {

// What an id stands for. A job's may come again: of a reader, only processes that ran at the same time are then one run.
enum class IdOf : uint8_t { run, job, process };
inline constexpr std::array kIdOfNames = {"run", "job", "process"};

struct RunId {
    std::string id;
    IdOf of = IdOf::process;
};

// Set by `snoopie run` for all processes that it starts.
inline constexpr const char kRunVariable[] = "SNOOPIE_RUN";

// A launcher's name for one start of a program, in one or two of the variables that its processes have. The innermost launcher first: it is
// the one that started them together.
struct Launcher {
    const char* name;
    const char* variable;
    const char* also = "";    // a second one, whose value follows behind a dot
    const char* never = "";   // a value of the last variable that begins so names no start
    bool comes_again = true;  // whether another run can have the same id
};

inline constexpr Launcher kLaunchers[] = {
    {"openmpi", "OMPI_MCA_ess_base_jobid"},
    {"pmix", "PMIX_NAMESPACE"},
    {"pals", "PALS_APID", "", "", false},
    {"pmi", "PMI_JOBID"},
    // The steps that are a job's script or its interactive shell, 0xfffffffa and above, may start many runs.
    {"slurm", "SLURM_JOB_ID", "SLURM_STEP_ID", "42949672", false},
    {"torchrun", "TORCHELASTIC_RUN_ID"},
};

// Whether the text can be an id: short, and of characters that need no quoting in a shell or a file name.
bool is_run_id(const std::string& text);

// `named`: by the user or `snoopie run`, "" = by nobody. `own`: what to call a run of which nothing is known but this process.
RunId find_run(const std::string& named, const std::function<const char*(const char*)>& environment, const std::string& own);

}  // namespace snoopie
