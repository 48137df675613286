// The settings of `disassemble`, which is a program of its own and small.
#pragma once

namespace snoopie {

constexpr const char* kCacheVariable = "SNOOPIE_CACHE";
constexpr const char* kCacheSizeVariable = "SNOOPIE_CACHE_SIZE";
constexpr const char* kNvdisasmVariable = "SNOOPIE_NVDISASM";
constexpr const char* kDefaultCache = "~/.cache/snoopie";
constexpr const char* kDefaultCacheSize = "1G";
constexpr const char* kDefaultNvdisasm = "nvdisasm";

}  // namespace snoopie
