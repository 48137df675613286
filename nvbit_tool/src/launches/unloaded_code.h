// Code that the program unloads: the next that it loads can get the same handles and lie at the same place. So what is known of its
// functions is forgotten.
#pragma once

#include "launches/contexts.h"
#include "launches/instrumenter.h"
#include "nvbit.h"
#include "trace/notices.h"

namespace snoopie {

// Safe to call from any thread.
class UnloadedCode {
  public:
    UnloadedCode(const Contexts* contexts, Instrumenter* instrumenter, Notices* notices)
        : contexts_(contexts), instrumenter_(instrumenter), notices_(notices) {}

    // cuModuleUnload and cuLibraryUnload, of which the latter is for all contexts. Of the calls' entry what is theirs is remembered, until
    // their exit.
    void at_event(CUcontext context, bool is_exit, nvbit_api_cuda_t cbid, const void* params, bool succeeded);

  private:
    void remember(Context& context, CUmodule module);
    // What the driver answers when it is asked whose code it is. Where it does not, more cannot be done than to say so.
    bool told(CUresult answer);

    const Contexts* const contexts_;
    Instrumenter* const instrumenter_;
    Notices* const notices_;
};

}  // namespace snoopie
