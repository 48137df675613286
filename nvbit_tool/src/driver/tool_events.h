// What NVBit hears from the driver, and when: its callback comes after a filter of ours.
//
// Driver calls that only ask are kept from it: PyTorch makes nine in ten of its calls to learn the current GPU or an attribute of a kernel.
// NVBit hears all calls, at their entry and at their exit, and takes longer over each than the driver does. Calls that load, unload or
// launch code are made in turns (code_turns.h). Calls of the collector's own are kept from it but for those. Of kernels that the driver
// itself launches in other calls, as in cuCtxResetPersistingL2Cache, NVBit hears nothing.
#pragma once

namespace snoopie {

// Whether NVBit, and so the collector, hears of questions too. At first it does not.
void hear_questions(bool wanted);

}  // namespace snoopie
