// Calls that end memory at an address, whatever made it.
#pragma once

#include "memory/imports.h"
#include "memory/mappings.h"
#include "memory/memory.h"
#include "memory/pool_use.h"
#include "nvbit.h"

namespace snoopie {

class Frees {
  public:
    Frees(Memory* memory, Imports* imports, Mappings* mappings, PoolUse* pool_use)
        : memory_(memory), imports_(imports), mappings_(mappings), pool_use_(pool_use) {}

    // Any call, at its entry and at its successful or failed exit.
    void before(nvbit_api_cuda_t cbid, const void* params);
    void after(nvbit_api_cuda_t cbid, bool succeeded);

    // Asks the driver which objects are gone.
    void look();

  private:
    Memory* const memory_;
    Imports* const imports_;
    Mappings* const mappings_;
    PoolUse* const pool_use_;
};

}  // namespace snoopie
