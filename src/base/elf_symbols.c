/* The two hash tables of an ELF object.
 *
 *     GNU       counts, a Bloom filter, the first symbol of each bucket; then a hash for each
 *               symbol, whose last bit ends a bucket
 *     System V  counts, the first symbol of each bucket; then for each symbol the next one
 */
#include "base/elf_symbols.h"

#include <elf.h>
#include <stddef.h>

#include "base/poison.h"

#define VERSION_HIDDEN 0x8000 /* in DT_VERSYM: not the version that a new program gets */

struct elf_name elf_name(const char *text)
{
    struct elf_name name = {.text = text, .gnu = 5381};

    for (; *text; text++) {
        name.gnu = name.gnu * 33 + (unsigned char)*text;
        name.sysv = (name.sysv << 4) + (unsigned char)*text;
        name.sysv = (name.sysv ^ (name.sysv >> 24 & 0xf0)) & 0x0fffffff;
    }
    return name;
}

/* The loader has made addresses of the offsets, except in read-only sections, such as the vdso's.
 */
static const void *address_of(ElfW(Addr) base, const ElfW(Dyn) * entry)
{
    ElfW(Addr) address = entry->d_un.d_ptr;

    return (const void *)(address < base ? address + base : address);
}

bool elf_symbols_open(struct elf_symbols *symbols, const ElfW(Dyn) * dynamic, ElfW(Addr) base)
{
    *symbols = (struct elf_symbols){.all = NULL};
    for (const ElfW(Dyn) *entry = dynamic; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            symbols->all = address_of(base, entry);
        else if (entry->d_tag == DT_STRTAB)
            symbols->strings = address_of(base, entry);
        else if (entry->d_tag == DT_VERSYM)
            symbols->versions = address_of(base, entry);
        else if (entry->d_tag == DT_GNU_HASH)
            symbols->gnu_table = address_of(base, entry);
        else if (entry->d_tag == DT_HASH)
            symbols->sysv_table = address_of(base, entry);
    }
    return symbols->all && symbols->strings;
}

bool elf_symbols_open_shown(struct elf_symbols *symbols, const struct dl_phdr_info *object)
{
    const ElfW(Dyn) *dynamic = NULL;

    for (unsigned i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    return elf_symbols_open(symbols, dynamic, object->dlpi_addr);
}

/* As strcmp, which a sanitizer's library may replace before it is ready. */
static bool is_same(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++)
        continue;
    return *a == *b;
}

static bool is_wanted(const struct elf_symbols *symbols, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &symbols->all[index];

    return symbol->st_shndx != SHN_UNDEF &&
           !(symbols->versions && symbols->versions[index] & VERSION_HIDDEN) &&
           is_same(symbols->strings + symbol->st_name, name);
}

static const ElfW(Sym) * find_gnu(const struct elf_symbols *symbols, const struct elf_name *name)
{
    const uint32_t *table = symbols->gnu_table;
    const uint32_t *buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = buckets + table[0];
    uint32_t index = table[0] ? buckets[name->gnu % table[0]] : 0;

    for (; index >= table[1] && index; index++) {
        uint32_t other = chain[index - table[1]];

        if ((other | 1) == (name->gnu | 1) && is_wanted(symbols, index, name->text))
            return &symbols->all[index];
        if (other & 1)
            break;
    }
    return NULL;
}

static const ElfW(Sym) * find_sysv(const struct elf_symbols *symbols, const struct elf_name *name)
{
    const uint32_t *table = symbols->sysv_table;
    const uint32_t *next = table + 2 + table[0];
    uint32_t index = table[0] ? table[2 + name->sysv % table[0]] : 0;

    for (; index && index < table[1]; index = next[index])
        if (is_wanted(symbols, index, name->text))
            return &symbols->all[index];
    return NULL;
}

const ElfW(Sym) * elf_symbols_find(const struct elf_symbols *symbols, const struct elf_name *name)
{
    if (symbols->gnu_table)
        return find_gnu(symbols, name);
    return symbols->sysv_table ? find_sysv(symbols, name) : NULL;
}

/* GNU's table leaves these out: they come before the first symbol that it has. If an object defines
 * no dynamic symbol, the linker may write that it begins at 1: then none is seen. */
bool elf_symbols_need(const struct elf_symbols *symbols, const char *name)
{
    uint32_t count = symbols->gnu_table    ? symbols->gnu_table[1]
                     : symbols->sysv_table ? symbols->sysv_table[1]
                                           : 0;

    for (uint32_t i = 1; i < count; i++)
        if (symbols->all[i].st_shndx == SHN_UNDEF &&
            is_same(symbols->strings + symbols->all[i].st_name, name))
            return true;
    return false;
}
