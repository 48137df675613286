// NVBit's hooks; to be included in exactly one translation unit, and not in probe.cu because there is a kernel in them.
#include "nvbit_tool.h"
