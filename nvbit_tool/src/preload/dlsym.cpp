// dlsym, in the place of the C library's: programs that look functions up in libraries that they open get those of this library before
// which it stands, too.
//
// What dlsym finds depends on who calls it (RTLD_NEXT, RTLD_DEFAULT). So this one asks which function to go on with, and jumps there with
// everything as it came, the caller's address with it.
#include <dlfcn.h>

#include <cstring>

#include "libraries/cupti_calls.h"
#include "libraries/next_function.h"
#include "libraries/nvrtc_calls.h"

namespace snoopie {

namespace {

Instead* instead_of(const char* name) {
    if (name[0] == 'n' && std::strcmp(name, kNvrtcCreate) == 0) return instead_of_nvrtc_create;
    return name[0] == 'c' ? instead_of_cupti(name) : nullptr;
}

void* look_up_ours(void* handle, const char* name) { return instead_of(name)(next_dlsym()(handle, name)); }

}  // namespace

}  // namespace snoopie

extern "C" __attribute__((visibility("hidden"), used)) snoopie::LookUp* snoopie_dlsym_for(void* handle, const char* name) {
    const bool ours = handle != RTLD_NEXT && name && snoopie::instead_of(name);
    return ours ? snoopie::look_up_ours : snoopie::next_dlsym();
}

#if defined(__x86_64__)
asm(R"(
    .text
    .globl dlsym
    .type dlsym, @function
dlsym:
    .cfi_startproc
    endbr64
    push %rdi
    .cfi_adjust_cfa_offset 8
    push %rsi
    .cfi_adjust_cfa_offset 8
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    call snoopie_dlsym_for
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop %rsi
    .cfi_adjust_cfa_offset -8
    pop %rdi
    .cfi_adjust_cfa_offset -8
    jmp *%rax
    .cfi_endproc
    .size dlsym, . - dlsym
)");
#elif defined(__aarch64__)
asm(R"(
    .text
    .globl dlsym
    .type dlsym, %function
dlsym:
    .cfi_startproc
    hint #34  // bti c, by the name that all assemblers know
    stp x29, x30, [sp, #-32]!
    .cfi_adjust_cfa_offset 32
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    stp x0, x1, [sp, #16]
    bl snoopie_dlsym_for
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_adjust_cfa_offset -32
    .cfi_restore x29
    .cfi_restore x30
    br x16
    .cfi_endproc
    .size dlsym, . - dlsym
)");
#else
#error "dlsym has to be written for this kind of machine"
#endif
