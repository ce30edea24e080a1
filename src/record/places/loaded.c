/* Reads the linker's list of modules, and looks symbols up by the hash tables of these
 * (DT_GNU_HASH, which each module of this century has).
 */
#include "record/places/loaded.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "base/poison.h"

/* The first module is enough: the count is in each. */
static int take_removals(struct dl_phdr_info *info, size_t bytes, void *context)
{
    uint64_t *removals = context;

    if (bytes >= sizeof *info)
        *removals = info->dlpi_subs;
    return 1;
}

uint64_t loaded_removals(void)
{
    uint64_t removals = 0;

    dl_iterate_phdr(take_removals, &removals);
    return removals;
}

/* ---- Symbols ---- */

struct symbols {
    const ElfW(Sym) * all;
    const char *names;
    const uint32_t *table; /* four numbers, a filter, the buckets, the chains */
};

enum { TABLE_BUCKETS, TABLE_FIRST, TABLE_FILTER_WORDS, TABLE_SHIFT, TABLE_HEAD };

struct lookup {
    const char *name;
    uint32_t hash;
    bool found;
};

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;

    while (*name)
        hash = hash * 33 + (unsigned char)*name++;
    return hash;
}

static const ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *info)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return NULL;
}

static struct symbols symbols_of(const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *entry = dynamic_of(info);
    struct symbols symbols = {0};

    for (; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_SYMTAB)
            symbols.all = (const ElfW(Sym) *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_STRTAB)
            symbols.names = (const char *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_GNU_HASH)
            symbols.table = (const uint32_t *)entry->d_un.d_ptr;
    return symbols;
}

static bool is_in(const struct symbols *symbols, const struct lookup *lookup)
{
    const uint32_t *table = symbols->table;
    const uint32_t *buckets =
        table + TABLE_HEAD + (size_t)table[TABLE_FILTER_WORDS] * sizeof(ElfW(Addr)) / sizeof *table;
    const uint32_t *chains = buckets + table[TABLE_BUCKETS];
    uint32_t first = table[TABLE_FIRST];
    uint32_t i = table[TABLE_BUCKETS] ? buckets[lookup->hash % table[TABLE_BUCKETS]] : 0;

    /* A chain has the symbols' hashes; bit 0 says that it ends. */
    for (; i >= first && i; i++) {
        if ((chains[i - first] | 1) == (lookup->hash | 1) &&
            !strcmp(symbols->names + symbols->all[i].st_name, lookup->name))
            return symbols->all[i].st_shndx != SHN_UNDEF;
        if (chains[i - first] & 1)
            return false;
    }
    return false;
}

static int look_at(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct symbols symbols = symbols_of(info);
    struct lookup *lookup = context;

    (void)bytes;
    /* The kernel's own module is not relocated: its table has no addresses. */
    if (!symbols.all || !symbols.names || (uintptr_t)symbols.all < info->dlpi_addr)
        return 0;
    lookup->found = !symbols.table || is_in(&symbols, lookup);
    return lookup->found;
}

bool loaded_defines(const char *name)
{
    struct lookup lookup = {.name = name, .hash = hash_of(name)};

    dl_iterate_phdr(look_at, &lookup);
    return lookup.found;
}
