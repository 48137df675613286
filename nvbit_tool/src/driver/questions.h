// Driver calls that only ask: PyTorch makes nine in ten of its calls to learn the current GPU or an attribute of a kernel. NVBit hears all
// calls, at their entry and at their exit, and takes longer over each than the driver does.
#pragma once

namespace snoopie {

// Whether NVBit, and so the collector, hears of them too. At first it does not.
void hear_questions(bool wanted);

}  // namespace snoopie
