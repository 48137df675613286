"""What NVIDIA's driver says of itself, asked through libcuda, as JSON.

A program of its own, which needs nothing but Python: a driver that crashes or hangs then does so elsewhere. It creates
no context.
"""

import ctypes
import json
import sys

_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_…


def ask() -> dict[str, object]:
    """`version` of CUDA (13000), `error` of cuInit (0: none), the devices' `capabilities`, and `unreachable` pairs."""
    library = ctypes.CDLL("libcuda.so.1")
    version, count, part, can = (ctypes.c_int() for _ in range(4))
    library.cuDriverGetVersion(ctypes.byref(version))
    error = library.cuInit(0)
    if error == 0:
        library.cuDeviceGetCount(ctypes.byref(count))
    devices = range(count.value)
    capabilities, unreachable = [], []
    for device in devices:
        parts = []
        for attribute in (_MAJOR, _MINOR):
            library.cuDeviceGetAttribute(ctypes.byref(part), attribute, device)
            parts.append(str(part.value))
        capabilities.append(".".join(parts))
        for other in devices:
            if other != device:
                library.cuDeviceCanAccessPeer(ctypes.byref(can), device, other)
                if not can.value:
                    unreachable.append((device, other))
    return {"version": version.value, "error": error, "capabilities": capabilities, "unreachable": unreachable}


if __name__ == "__main__":
    try:
        json.dump(ask(), sys.stdout)
    # No such library, or a stub without the functions.
    except (OSError, AttributeError) as failure:
        json.dump({"missing": str(failure)}, sys.stdout)
