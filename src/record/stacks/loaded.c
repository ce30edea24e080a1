/* Reads the linker's list of modules, and looks symbols up by their hash tables. */
#include "record/stacks/loaded.h"

#include <link.h>
#include <stddef.h>

#include "base/elf_symbols.h"

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

struct lookup {
    struct elf_name name;
    bool found;
};

static int look_at(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct lookup *lookup = context;
    struct elf_symbols symbols;

    (void)bytes;
    if (!elf_symbols_open_shown(&symbols, info))
        return 0;
    lookup->found =
        !(symbols.gnu_table || symbols.sysv_table) || elf_symbols_find(&symbols, &lookup->name);
    return lookup->found;
}

bool loaded_defines(const char *name)
{
    struct lookup lookup = {.name = elf_name(name)};

    dl_iterate_phdr(look_at, &lookup);
    return lookup.found;
}
