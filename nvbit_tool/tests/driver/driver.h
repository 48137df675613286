// A driver of two GPUs that lie in the host's memory, for running the collector on any machine. Everything that is asked of it is done at
// once; what the collector asks can be made to fail:
//
//   SNOOPIE_FAULT=cuMemCreate:1:2       the collector's first call of this function fails with error 2 (CUDA_ERROR_OUT_OF_MEMORY)
//   SNOOPIE_FAULT=any:17:801            its 17th call, of whatever function
//   SNOOPIE_FAULT=any:17:801:on         and all that follow
//   SNOOPIE_FAULT=A:1:2,B:1:2           both of these
//
// The file that SNOOPIE_FAULT_SAID names is made when the last of these happens: without it the collector makes fewer such calls.
#pragma once

#include <cstdint>
#include <string>

#include "driver/driver.h"

constexpr int kGpus = 2;

inline CUcontext context_of_gpu(int gpu) { return reinterpret_cast<CUcontext>(uint64_t{0x10} + static_cast<uint64_t>(gpu)); }

// While one of these lives, this thread's calls are the program's: none of them fails.
class ProgramCall {
  public:
    ProgramCall();
    ~ProgramCall();
};

// Whether a call of the collector's is to fail, and with what.
CUresult fault_in(const char* call);

// What the program can tell of its thread: the current contexts and the mode of captures.
std::string state_of_thread();
// The state of the collector's memory on all GPUs: how many bytes it has taken and not given back.
uint64_t bytes_taken_by_collector();
// With its contexts it goes, and is no one's.
void end_memory_of_collector();
// Events that it has made. None is ever destroyed.
size_t events_of_collector();

CUstream new_stream(unsigned flags);
// From now on the events of a stream do not come about, until they may.
void hold(CUstream stream);
void let_go(CUstream stream);

CUgraph graph_of_one_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUgraph graph_of_a_graph(CUgraph child);

// The only global variable that a module has.
void set_global(CUmodule module, CUdeviceptr address, size_t bytes);

// A stream captures one kernel, and what it captured becomes a graph.
void begin_capture(CUstream stream);
void capture_kernel(CUstream stream);
CUgraph end_capture(CUstream stream);
