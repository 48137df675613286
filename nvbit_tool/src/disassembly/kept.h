// A run of nvdisasm whose output the cache keeps.
#pragma once

#include <optional>
#include <string>

#include "disassembly/cache.h"
#include "disassembly/nvdisasm.h"

namespace snoopie {

class KeptRun {
  public:
    KeptRun(const Cache& cache, std::string program, Arguments arguments);

    // False: nothing is read from a file, or could be, or the output does not go to stdout.
    bool can_be_kept() const { return !key_.empty(); }

    // What the run would say, by an entry for the same code, or for code that differs in addresses alone (addresses.h).
    std::optional<Output> find() const;

    // Does nothing with an output that says where its input lay.
    void keep(const Output& output) const;

  private:
    // `nvdisasm -b SM90 FILE`
    struct Code {
        int architecture;
        std::string bytes;
    };
    static std::optional<Code> code_of(const Arguments& arguments);
    std::optional<Output> with_own_addresses(Output output) const;
    // For what is kept for these very addresses. "" as below, or where the file cannot be read any more.
    std::string exact_key() const;

    const Cache& cache_;
    const std::string program_;
    const Arguments arguments_;
    const std::optional<Code> code_;
    const std::string key_;  // without addresses where there is code; "" if the output cannot be kept
};

}  // namespace snoopie
