// Memory as one GPU sees it.
#pragma once

#include <cstdint>

namespace snoopie {

// `own`: an allocation of which all is in its memory. `nowhere`: no memory that is known.
enum class Where : uint8_t { own, foreign, nowhere };

}  // namespace snoopie
