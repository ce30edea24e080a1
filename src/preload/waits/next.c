/* Finds functions in the libraries that the loader has placed behind this one, by their GNU hash
 * tables. Nothing here takes a lock, allocates or calls the loader.
 */
#include "preload/waits/next.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/poison.h"

#define VERSION_HIDDEN 0x8000 /* in DT_VERSYM: not the version that a new program gets */

void *_Atomic next_functions[NEXT_COUNT];

static const char *const names[NEXT_COUNT] = {
#define NEXT_TEXT(name) #name,
    NEXT_FUNCTIONS(NEXT_TEXT)
#undef NEXT_TEXT
};

/* ---- One library ---- */

struct library {
    const uint32_t *hash;
    const ElfW(Sym) * symbols;
    const ElfW(Half) * versions; /* NULL: its symbols have none */
    const char *strings;
};

/* The loader has made addresses of the offsets, except in read-only sections, such as the vdso's.
 */
static const void *address_of(const struct link_map *map, const ElfW(Dyn) * entry)
{
    ElfW(Addr) address = entry->d_un.d_ptr;

    return (const void *)(address < map->l_addr ? address + map->l_addr : address);
}

static bool open_library(const struct link_map *map, struct library *library)
{
    *library = (struct library){.hash = NULL};
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_GNU_HASH)
            library->hash = address_of(map, entry);
        else if (entry->d_tag == DT_SYMTAB)
            library->symbols = address_of(map, entry);
        else if (entry->d_tag == DT_STRTAB)
            library->strings = address_of(map, entry);
        else if (entry->d_tag == DT_VERSYM)
            library->versions = address_of(map, entry);
    }
    return library->hash && library->symbols && library->strings;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;

    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static bool is_wanted(const struct library *library, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &library->symbols[index];

    return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
           !(library->versions && library->versions[index] & VERSION_HIDDEN) &&
           strcmp(library->strings + symbol->st_name, name) == 0;
}

/* The address in the library's file; 0: it has no such function. The table: counts, a Bloom filter,
 * the first symbol of each bucket, and a hash for each symbol, whose last bit ends a bucket. */
static ElfW(Addr) find_in(const struct library *library, const char *name)
{
    const uint32_t *table = library->hash;
    const uint32_t *buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = buckets + table[0];
    uint32_t hash = hash_of(name);
    uint32_t index = table[0] ? buckets[hash % table[0]] : 0;

    for (; index >= table[1] && index; index++) {
        uint32_t other = chain[index - table[1]];

        if ((other | 1) == (hash | 1) && is_wanted(library, index, name))
            return library->symbols[index].st_value;
        if (other & 1)
            break;
    }
    return 0;
}

/* ---- All behind this one ---- */

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden"))); /* of this library */

static const struct link_map *find_self(void)
{
    const struct link_map *map = _r_debug.r_map;

    while (map && map->l_ld != _DYNAMIC)
        map = map->l_next;
    return map;
}

static void *find_behind(const struct link_map *self, const char *name)
{
    struct library library;

    for (const struct link_map *map = self ? self->l_next : NULL; map; map = map->l_next) {
        ElfW(Addr) found = open_library(map, &library) ? find_in(&library, name) : 0;

        if (found)
            return (void *)(map->l_addr + found);
    }
    return NULL;
}

static long missing_call(void)
{
    errno = ENOSYS;
    return -1;
}

static int missing_pthread(void)
{
    return ENOSYS;
}

void *next_missing(const char *name)
{
    return strncmp(name, "pthread_", 8) == 0 ? (void *)missing_pthread : (void *)missing_call;
}

/* A function that is missing is looked for again at each call: libpthread may be loaded late. */
void *next_find(enum next_name name)
{
    void *found = find_behind(find_self(), names[name]);

    if (!found)
        return next_missing(names[name]);
    atomic_store_explicit(&next_functions[name], found, memory_order_relaxed);
    return found;
}

/* Before the program's threads: their calls then find all functions. */
__attribute__((constructor)) static void find_all(void)
{
    for (unsigned name = 0; name < NEXT_COUNT; name++)
        next_find((enum next_name)name);
}
