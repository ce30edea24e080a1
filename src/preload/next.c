/* Finds functions in the libraries that come after this one in the loader's list. Nothing here
 * takes a lock or allocates, and in glibc nothing calls another library: those in between may not
 * be ready.
 */
#include "preload/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "base/elf_symbols.h"

#include "base/poison.h"

void *_Atomic next_functions[NEXT_COUNT];

/* A row names the next function; or, with `lock`, libc's function that tries that lock; or libc's
 * own function. */
static const struct row {
    const char *name;
    const char *lock;
    bool is_libcs;
} rows[NEXT_COUNT] = {
#define NEXT_ROW(name) {#name, NULL, false},
    NEXT_FUNCTIONS(NEXT_ROW)
#undef NEXT_ROW
#define TRY_ROW(lock, name) {#name, #lock, true},
        NEXT_TRIES(TRY_ROW)
#undef TRY_ROW
#define LIBC_ROW(name) {#name, NULL, true},
            NEXT_LIBC(LIBC_ROW)
#undef LIBC_ROW
};

/* ---- One library ---- */

static bool begins_with(const char *text, const char *begin)
{
    for (; *begin; text++, begin++)
        if (*text != *begin)
            return false;
    return true;
}

/* glibc before 2.34 has several; musl's is its loader. */
static bool is_libc(const struct link_map *map)
{
    static const char *const names[] = {"libc.so", "libpthread.so", "libdl.so", "ld-musl-"};
    const char *file = map->l_name;

    for (const char *at = file; *at; at++)
        file = *at == '/' ? at + 1 : file;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (begins_with(file, names[i]))
            return true;
    return false;
}

typedef void *chooser(unsigned long first, const unsigned long capabilities[3]);

/* A function that chooses among several is asked as glibc's loader asks it, by what the processor
 * has: aarch64's look at that. */
static void *choose(chooser *choice)
{
    const unsigned long capabilities[3] = {sizeof capabilities, getauxval(AT_HWCAP),
                                           getauxval(AT_HWCAP2)};

    return choice(capabilities[1] | 1UL << 62, capabilities); /* _IFUNC_ARG_HWCAP */
}

static void *address_of(ElfW(Addr) base, const ElfW(Sym) * symbol)
{
    ElfW(Addr) address = base + symbol->st_value;

    return ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC ? choose((chooser *)address)
                                                           : (void *)address;
}

/* ---- All behind this one ---- */

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden"))); /* of this library */

/* Weak, since only glibc's loader has it. Of musl's, dlopen gives the list, without a lock. */
extern struct r_debug _r_debug __attribute__((weak));

static const struct link_map *find_self(void)
{
    const struct link_map *map = &_r_debug ? _r_debug.r_map : dlopen(NULL, RTLD_LAZY);

    while (map && map->l_ld != _DYNAMIC)
        map = map->l_next;
    return map;
}

/* The first one, or libc's. `in_libc`: whether it is libc's. */
static void *find_behind(const char *text, bool only_libc, bool *in_libc)
{
    const struct link_map *self = find_self();
    struct elf_name name = elf_name(text);
    struct elf_symbols symbols;

    for (const struct link_map *map = self ? self->l_next : NULL; map; map = map->l_next) {
        const ElfW(Sym) *found = NULL;

        if (!elf_symbols_open(&symbols, map->l_ld, map->l_addr))
            continue;
        *in_libc = is_libc(map);
        if (!only_libc || *in_libc)
            found = elf_symbols_find(&symbols, &name);
        if (found)
            return address_of(map->l_addr, found);
    }
    return NULL;
}

/* ---- Rows ---- */

static long missing_call(void)
{
    errno = ENOSYS;
    return -1;
}

static int missing_pthread(void)
{
    return ENOSYS;
}

static void *missing_dlsym(void)
{
    return NULL;
}

void *next_missing(const char *name)
{
    if (begins_with(name, "dlsym"))
        return (void *)missing_dlsym;
    return begins_with(name, "pthread_") ? (void *)missing_pthread : (void *)missing_call;
}

int next_busy(void)
{
    return EBUSY;
}

static void *find_row(const struct row *row)
{
    bool in_libc = false;

    if (row->lock && !find_behind(row->lock, false, &in_libc))
        return NULL;
    if (row->lock && !in_libc)
        return (void *)next_busy;
    return find_behind(row->name, row->is_libcs, &in_libc);
}

/* A function that is missing is looked for again at each call: libpthread may be loaded late. */
void *next_find(enum next_name name)
{
    void *found = find_row(&rows[name]);

    if (!found)
        return next_missing(rows[name].name);
    atomic_store_explicit(&next_functions[name], found, memory_order_relaxed);
    return found;
}

/* Before the program's threads: their calls then find all functions. */
__attribute__((constructor)) static void find_all(void)
{
    for (unsigned name = 0; name < NEXT_COUNT; name++)
        next_find((enum next_name)name);
}
