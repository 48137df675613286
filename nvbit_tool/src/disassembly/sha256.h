// SHA-256 (FIPS 180-4): the key of a disassembly must not meet another's by chance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace snoopie {

class Sha256 {
  public:
    void add(std::string_view bytes);
    // Parts are separated by their lengths.
    void add_part(char kind, std::string_view part);
    std::string hex();  // of all that was added, 64 digits; ends the sum

  private:
    void block(const uint8_t* bytes);

    std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<uint8_t, 64> waiting_{};
    size_t waiting_bytes_ = 0;
    uint64_t total_bytes_ = 0;
};

}  // namespace snoopie
