// Single accesses → rows of the trace: what many of them have in common is written once, as a pattern. For one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/schema.h"
#include "trace/trace_writer.h"

namespace snoopie {

// One access without its addresses.
struct Access {
    u4 launch;
    u4 site;
    u1 issuer;
    u1 owner;
    u4 mask;
    u8 time;
    u8 block;
    u1 warp;
    u2 sm = 0;  // 1 + its number, 0 = unknown
};

class RecordWriter {
  public:
    // Patterns remembered; when there are so many, all are forgotten, and those that come again are written again.
    static constexpr size_t kPatterns = 1 << 16;

    explicit RecordWriter(TraceWriter* writer) : writer_(writer) {}

    void strided(const Access& access, u8 base, i8 stride);
    // `addresses` has 32, those of the lanes in the mask.
    void scattered(const Access& access, const u8* addresses);
    void bulk(const Access& access, u8 base, u8 bytes);

    // Accesses that the trace does not have yet.
    size_t pending() const { return strided_.size() + scattered_.size() + bulk_.size(); }
    // Hands them over, waiting while the trace's thread has too much to do.
    void flush();

  private:
    struct Pattern {
        u4 launch;
        u4 site;
        u4 mask;
        u1 issuer;
        u1 owner;
        i8 stride;

        bool operator==(const Pattern& other) const {
            return launch == other.launch && site == other.site && mask == other.mask && issuer == other.issuer && owner == other.owner &&
                   stride == other.stride;
        }
    };
    struct Hash {
        size_t operator()(const Pattern& pattern) const;
    };

    u4 intern(const Access& access, i8 stride);

    TraceWriter* const writer_;
    std::unordered_map<Pattern, u4, Hash> ids_;
    Pattern latest_{};
    u4 latest_id_ = 0;
    u4 last_id_ = 0;
    std::vector<PatternRow> patterns_;
    std::vector<RecordRow> strided_;
    std::vector<ScatteredRow> scattered_;
    std::vector<BulkRow> bulk_;
};

}  // namespace snoopie
