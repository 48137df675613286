// Whose memory an imported handle is. The driver does not say it: of memory that another process allocated it names the importer's own GPU,
// or none. But exporter and importer see the same bytes of the handle, so the collectors of one user on one machine tell each other: each
// keeps a file of the handles that its process exported, with the owner's UUID, for as long as the process lives.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace snoopie {

class Exports {
  public:
    // `folder` is made if need be; one that is not this user's own is not used.
    explicit Exports(std::string folder) : folder_(std::move(folder)) {}
    ~Exports();
    Exports(const Exports&) = delete;
    Exports& operator=(const Exports&) = delete;

    // In shared memory, where files vanish with the machine's next start.
    static std::string default_folder();

    // A handle's bytes and the GPU's UUID. False if other processes cannot be informed.
    bool publish(std::string_view handle, const std::string& uuid);

    // The UUID that this or another live process published last for the handle.
    std::optional<std::string> find(std::string_view handle) const;

    // The same for memory that is passed on as a file descriptor. Its number means nothing elsewhere, but the kernel can tell whether two
    // processes' descriptors are one file: a copy is kept open for kDescriptorSeconds, until whoever gets the other has imported it. (No
    // longer, because it keeps the memory.)
    bool publish_descriptor(int descriptor, const std::string& uuid);
    std::optional<std::string> find_descriptor(int descriptor) const;
    // Closes copies that are due.
    void tidy();

    static constexpr int kDescriptorSeconds = 10;

    // Ends what this process has published.
    void close();

  private:
    bool open();
    bool append(const std::string& line);
    // All that live processes have published.
    std::vector<std::string> read() const;

    const std::string folder_;
    mutable std::mutex mutex_;
    int fd_ = -1;
    std::string path_;
    std::vector<std::pair<int, std::chrono::steady_clock::time_point>> copies_;  // oldest first
};

}  // namespace snoopie
