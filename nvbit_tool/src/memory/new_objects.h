// Objects that driver calls make, with who made them.
#pragma once

#include <functional>
#include <utility>

#include "driver/driver.h"
#include "memory/memory.h"

namespace snoopie {

class NewObjects {
  public:
    // Of the calling thread, in a call of this name.
    using MakerOf = std::function<Maker(const char* call)>;

    NewObjects(Memory* memory, MakerOf maker_of) : memory_(memory), maker_of_(std::move(maker_of)) {}

    // The calling thread is in the exit of this call from here on: it is the one that makes objects.
    static void in_call(const char* name);
    Maker maker() const;

    // As Memory's own; these return the object's id.
    uint32_t allocated(const Object& object) const { return memory_->allocated(object, maker()); }
    uint32_t listed(const Object& object) const { return memory_->listed(object, maker()); }
    void add(CUdeviceptr address, size_t bytes, uint8_t owner, ObjectKind kind, CUcontext context) const;

  private:
    Memory* const memory_;
    const MakerOf maker_of_;
};

}  // namespace snoopie
