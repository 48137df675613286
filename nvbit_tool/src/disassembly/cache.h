// A directory of nvdisasm's outputs, each in a file named after everything that the output depends on.
//
// Readers take no lock: an entry appears whole, by rename, and its checksum is checked. Whoever adds or removes entries holds the lock of
// the file `total`, which holds the entries' size, so that the directory is searched only when the bound is passed. What goes wrong here
// costs an entry, never the caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace snoopie {

struct Output {
    std::string out;  // stdout
    std::string err;  // stderr
};

// Where the cache is, from SNOOPIE_CACHE, XDG_CACHE_HOME or HOME; "" if none of them says.
std::string cache_directory();

class Cache {
  public:
    Cache(std::string directory, uint64_t most_bytes) : directory_(std::move(directory)), most_bytes_(most_bytes) {}

    const std::string& directory() const { return directory_; }

    // An entry that is there and whole; its use is noted.
    std::optional<Output> find(const std::string& key) const;
    void store(const std::string& key, const Output& output) const;

  private:
    std::string path(const std::string& name) const { return directory_ + "/" + name; }
    // Removes what was used longest ago until three quarters of the bound are left; returns the size of what remains.
    uint64_t prune() const;

    const std::string directory_;
    const uint64_t most_bytes_;
};

// As SNOOPIE_CACHE_SIZE and the above say. None: nothing is to be remembered.
std::optional<Cache> open_cache();

}  // namespace snoopie
