// Memory as one GPU sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace snoopie {

// `own`: an allocation of which all is in its memory. `nowhere`: no memory that is known.
enum class Where : uint8_t { own, foreign, nowhere };

using WhereIs = std::function<Where(uint64_t address)>;

// Of all addresses. A launch may ask for thousands.
class WhereTable {
  public:
    // Each goes up to the beginning of the next. Below the first is nothing.
    struct Stretch {
        uint64_t begin = 0;
        Where where = Where::nowhere;
    };

    // Ascending.
    explicit WhereTable(const std::vector<Stretch>& stretches) {
        for (const Stretch& stretch : stretches) {
            if (stretch.where == where_.back()) continue;
            begins_.push_back(stretch.begin);
            where_.push_back(stretch.where);
        }
    }

    // Without branches that cannot be foretold: most of what is asked for is close to random.
    Where at(uint64_t address) const {
        const uint64_t* begin = begins_.data();
        for (size_t left = begins_.size(); left > 1;) {
            const size_t half = left / 2;
            begin = begin[half] <= address ? begin + half : begin;
            left -= half;
        }
        return where_[static_cast<size_t>(begin - begins_.data())];
    }

  private:
    std::vector<uint64_t> begins_{0};
    std::vector<Where> where_{Where::nowhere};
};

}  // namespace snoopie
