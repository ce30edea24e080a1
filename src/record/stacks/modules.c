/* Modules of the process: which are loaded, and which one a native place is in. */
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/elf_symbols.h"
#include "record/stacks/native.h"

#include "base/poison.h"

/* ---- What is loaded ---- */

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

static int look_at_removals(struct dl_phdr_info *info, size_t bytes, void *context)
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

    dl_iterate_phdr(look_at_removals, &lookup);
    return lookup.found;
}

/* ---- Modules of places ---- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* What stands between the program's call and this code. */
static bool is_hidden(const char *path)
{
    static const char *const names[] = {"libminiprof.so", "libminiprof_preload.so", "libcupti.so",
                                        "libcuda.so", "libcudart.so"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(last_part(path), names[i], strlen(names[i])))
            return true;
    return false;
}

/* The build id among the notes of a segment. */
static void find_build_id(struct native_module *module, const uint8_t *at, size_t bytes)
{
    ElfW(Nhdr) note;

    while (bytes >= sizeof note) {
        size_t name, data;

        memcpy(&note, at, sizeof note);
        name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        data = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > bytes - sizeof note || data > bytes - sizeof note - name)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            !memcmp(at + sizeof note, "GNU", 4) && note.n_descsz <= NATIVE_BUILD_ID) {
            module->build_id = at + sizeof note + name;
            module->build_id_bytes = note.n_descsz;
            return;
        }
        at += sizeof note + name + data;
        bytes -= sizeof note + name + data;
    }
}

static bool has_address(const struct dl_phdr_info *info, uintptr_t address)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD &&
            address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

static uint16_t add_module(struct native_search *search, const struct dl_phdr_info *info)
{
    struct native_module *module = &search->modules[search->module_count];

    if (search->module_count == NATIVE_MODULES)
        return 0;
    *module = (struct native_module){.base = info->dlpi_addr, .path = info->dlpi_name};
    for (unsigned i = 0; i < info->dlpi_phnum && !module->build_id; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            find_build_id(module, (const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                          info->dlpi_phdr[i].p_memsz);
    return (uint16_t)++search->module_count;
}

static int look_at(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct native_search *search = context;
    uint16_t number = 0;

    (void)bytes;
    for (uint32_t i = 0; i < search->count; i++) {
        if (search->of[i] || !has_address(info, PLACE_ADDRESS(search->places[i])))
            continue;
        if (!number)
            number = add_module(search, info);
        search->of[i] = number;
    }
    return 0;
}

static void number_module(struct native_search *search, struct native_module *module,
                          struct stack_store *store)
{
    struct native_key *key = &search->key;
    const char *path = module->path;

    /* The program itself has no name. */
    if (!path || !*path) {
        ssize_t got = readlink("/proc/self/exe", search->program, sizeof search->program - 1);

        search->program[got > 0 ? got : 0] = '\0';
        path = search->program;
    }
    module->hidden = is_hidden(path);
    size_t length = strnlen(path, NATIVE_PATH - 1);
    key->module = (struct stored_module){(uint32_t)length, module->build_id_bytes};
    memcpy(key->text, path, length);
    if (module->build_id)
        memcpy(key->text + length, module->build_id, module->build_id_bytes);
    module->number = store_module(store, key, sizeof key->module + length + module->build_id_bytes);
}

uint32_t native_place(struct native_search *search, struct stack_store *store, uint64_t *places,
                      uint32_t count)
{
    uint32_t hidden = 0;

    search->count = 0;
    search->module_count = 0;
    for (uint32_t i = 0; i < count && search->count <= NATIVE_DEPTH; i++) {
        if (!PLACE_IS_NATIVE(places[i]))
            continue;
        search->at[search->count] = i;
        search->of[search->count] = 0;
        search->places[search->count++] = places[i];
    }
    if (!search->count)
        return 0;
    dl_iterate_phdr(look_at, search);
    for (uint32_t i = 0; i < search->module_count; i++)
        number_module(search, &search->modules[i], store);
    for (uint32_t i = 0; i < search->count; i++) {
        const struct native_module *module =
            search->of[i] ? &search->modules[search->of[i] - 1] : NULL;
        uint32_t at = search->at[i];

        if (!module || !module->number)
            continue;
        /* A sanitizer's backtrace stands before ours. */
        if (module->hidden && (at == hidden || (!hidden && at <= 2)))
            hidden = at + 1;
        places[at] = PLACE_NATIVE | (uint64_t)module->number << PLACE_MODULE_SHIFT |
                     (PLACE_ADDRESS(places[at]) - module->base);
    }
    return hidden;
}
