#include "disassembly/sha256.h"

#include <algorithm>
#include <cstdio>

namespace snoopie {

namespace {

constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr uint32_t rotate(uint32_t value, int bits) { return value >> bits | value << (32 - bits); }

}  // namespace

void Sha256::block(const uint8_t* bytes) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i)
        w[i] = uint32_t{bytes[4 * i]} << 24 | uint32_t{bytes[4 * i + 1]} << 16 | uint32_t{bytes[4 * i + 2]} << 8 | bytes[4 * i + 3];
    for (int i = 16; i < 64; ++i) {
        const uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        const uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (int i = 0; i < 64; ++i) {
        const uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
        const uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const std::array<uint32_t, 8> change{a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < change.size(); ++i) state_[i] += change[i];
}

void Sha256::add(std::string_view bytes) {
    total_bytes_ += bytes.size();
    while (!bytes.empty()) {
        const size_t taken = std::min(bytes.size(), waiting_.size() - waiting_bytes_);
        std::copy_n(bytes.begin(), taken, waiting_.begin() + waiting_bytes_);
        waiting_bytes_ += taken;
        bytes.remove_prefix(taken);
        if (waiting_bytes_ == waiting_.size()) {
            block(waiting_.data());
            waiting_bytes_ = 0;
        }
    }
}

void Sha256::add_part(char kind, std::string_view part) {
    const uint64_t bytes = part.size();
    add({&kind, 1});
    add({reinterpret_cast<const char*>(&bytes), sizeof bytes});
    add(part);
}

std::string Sha256::hex() {
    const uint64_t bits = total_bytes_ * 8;
    add(std::string_view("\x80", 1));
    while (waiting_bytes_ != 56) add(std::string_view("\0", 1));
    for (int shift = 56; shift >= 0; shift -= 8) {
        const char byte = static_cast<char>(bits >> shift);
        add({&byte, 1});
    }
    char text[65];
    for (size_t i = 0; i < state_.size(); ++i) std::snprintf(text + 8 * i, 9, "%08x", state_[i]);
    return text;
}

}  // namespace snoopie
