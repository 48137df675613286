#include "trace/record_writer.h"

namespace snoopie {

size_t RecordWriter::Hash::operator()(const Pattern& pattern) const {
    // Launches, sites and masks differ in few low bits: multiply, so that all of them reach the bits that choose the bucket.
    constexpr u8 kSpread = 0x9E3779B97F4A7C15;
    u8 hash = 0;
    for (const u8 word : {u8{pattern.launch} << 32 | pattern.site, u8{pattern.mask} << 16 | u8{pattern.issuer} << 8 | pattern.owner,
                          static_cast<u8>(pattern.stride)}) {
        hash = (hash ^ word) * kSpread;
        hash ^= hash >> 32;
    }
    return hash;
}

u4 RecordWriter::intern(const Access& access, i8 stride) {
    const Pattern pattern{access.launch, access.site, access.mask, access.issuer, access.owner, stride};
    // Most accesses are like the one before.
    if (latest_id_ != 0 && pattern == latest_) return latest_id_;
    auto known = ids_.find(pattern);
    if (known == ids_.end()) {
        if (ids_.size() >= kPatterns) ids_.clear();
        known = ids_.emplace(pattern, ++last_id_).first;
        patterns_.push_back({last_id_, pattern.launch, pattern.site, pattern.issuer, pattern.owner, pattern.mask, pattern.stride});
    }
    latest_ = pattern;
    latest_id_ = known->second;
    return latest_id_;
}

void RecordWriter::strided(const Access& access, u8 base, i8 stride) {
    strided_.push_back({intern(access, stride), base, access.time, access.block, access.warp, access.sm});
}

void RecordWriter::scattered(const Access& access, const u8* addresses) {
    ScatteredRow& row = scattered_.emplace_back();
    row = {intern(access, 0), access.time, access.block, access.warp, access.sm, {}};
    // A lane without an address repeats the one before: no difference.
    u8 known = 0;
    for (size_t lane = 32; lane-- > 0;)
        if (access.mask >> lane & 1) known = addresses[lane];
    for (size_t lane = 0; lane < 32; ++lane) {
        if (access.mask >> lane & 1) known = addresses[lane];
        row.addresses[lane] = known;
    }
}

void RecordWriter::bulk(const Access& access, u8 base, u8 bytes) {
    bulk_.push_back({intern(access, 0), base, access.time, access.block, access.warp, access.sm, bytes});
}

void RecordWriter::flush() {
    if (pending() == 0) return;
    writer_->wait_for_room();
    writer_->append(patterns_);
    writer_->append(strided_);
    writer_->append(scattered_);
    writer_->append(bulk_);
    patterns_.clear();
    strided_.clear();
    scattered_.clear();
    bulk_.clear();
}

}  // namespace snoopie
