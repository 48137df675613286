// Reads the blocks of a trace as docs/trace-format.md says.
#pragma once

#include <unistd.h>
#include <zstd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "check.h"
#include "trace/crc32.h"

namespace snoopie::test {
