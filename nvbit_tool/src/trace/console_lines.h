// The two lines on stderr that tell what is recorded, and what was.
#pragma once

#include <string>
#include <vector>

#include "settings/options.h"
#include "trace/trace_header.h"

namespace snoopie {

// "1 access", "2 accesses".
std::string plural(uint64_t count, const char* noun, const char* ending = "s");

std::string first_line(const Options& options, const std::vector<GpuInfo>& gpus, const std::string& path);
std::string last_line(const Totals& totals, const std::string& path);

}  // namespace snoopie
