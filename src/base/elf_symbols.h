/* The symbols of a loaded object (a program or a library), found as the loader finds them: by its
 * hash table, GNU's or System V's. Only the object's memory is read: no lock, no allocation, no
 * call of another library. So all of this may run in any thread at any moment while the object is
 * loaded.
 */
#ifndef MP_BASE_ELF_SYMBOLS_H
#define MP_BASE_ELF_SYMBOLS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* A symbol's name and its hashes, for a search of several objects. */
struct elf_name {
    const char *text; /* not owned */
    uint32_t gnu;
    uint32_t sysv;
};

/* Addresses in the object; NULL: it has no such table. */
struct elf_symbols {
    const ElfW(Sym) * all;
    const char *strings;
    const ElfW(Half) * versions; /* one a symbol */
    const uint32_t *gnu_table;
    const uint32_t *sysv_table;
};

struct elf_name elf_name(const char *text);

/* The tables of the object that is loaded at `base`. False: it has no symbols. */
bool elf_symbols_open(struct elf_symbols *symbols, const ElfW(Dyn) * dynamic, ElfW(Addr) base);

/* The same of an object that dl_iterate_phdr shows. */
bool elf_symbols_open_shown(struct elf_symbols *symbols, const struct dl_phdr_info *object);

/* The object's definition of that name, in the version that a new program gets. NULL: it has none,
 * or neither hash table. */
const ElfW(Sym) * elf_symbols_find(const struct elf_symbols *symbols, const struct elf_name *name);

/* Whether the object needs the symbol of that name from another. False too without a hash table. */
bool elf_symbols_need(const struct elf_symbols *symbols, const char *name);

#endif
