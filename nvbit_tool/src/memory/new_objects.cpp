#include "memory/new_objects.h"

namespace snoopie {

static thread_local const char* calling = "";

void NewObjects::in_call(const char* name) { calling = name; }

Maker NewObjects::maker() const { return maker_of_(calling); }

void NewObjects::add(CUdeviceptr address, size_t bytes, uint8_t owner, ObjectKind kind, CUcontext context) const {
    Object object;
    object.address = address;
    object.bytes = bytes;
    object.owner = owner;
    object.kind = kind;
    object.context = reinterpret_cast<uint64_t>(context);
    allocated(object);
}

}  // namespace snoopie
