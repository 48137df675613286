#include "symbols.h"

#include <fcntl.h>
#include <gelf.h>
#include <stddef.h>
#include <unistd.h>

// The place in the file of what is loaded at an address; 0 for none.
static uint64_t offset_of(Elf* elf, uint64_t address) {
    size_t count = 0;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; ++i) {
        GElf_Phdr part;
        if (!gelf_getphdr(elf, (int)i, &part) || part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
        if (address >= part.p_vaddr && address < part.p_vaddr + part.p_filesz) return address - part.p_vaddr + part.p_offset;
    }
    return 0;
}

static void functions_of(Elf* elf, void (*each)(void*, const char*, uint64_t), void* context) {
    for (Elf_Scn* section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM || !header.sh_entsize) continue;
        Elf_Data* data = elf_getdata(section, NULL);
        for (size_t i = 0; data && i < header.sh_size / header.sh_entsize; ++i) {
            GElf_Sym symbol;
            if (!gelf_getsym(data, (int)i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
            const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
            uint64_t offset = offset_of(elf, symbol.st_value);
            if (name && offset) each(context, name, offset);
        }
    }
}

int exported_functions(const char* path, void (*each)(void*, const char*, uint64_t), void* context) {
    elf_version(EV_CURRENT);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    Elf* elf = elf_begin(file, ELF_C_READ, NULL);
    int result = elf && elf_kind(elf) == ELF_K_ELF ? 0 : -1;
    if (!result) functions_of(elf, each, context);
    if (elf) elf_end(elf);
    close(file);
    return result;
}
