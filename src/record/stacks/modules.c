/* Which module an address lies in: asked of the dynamic linker once for each new stack. */
#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "record/stacks/native.h"

#include "base/poison.h"

#define MOST_MODULES  64u /* on one stack */
#define MOST_PATH     1024u
#define MOST_BUILD_ID 64u

/* What the linker says of a module. It stays loaded, as it stands on the stack. */
struct module {
    uintptr_t base;
    const char *path;
    const uint8_t *build_id; /* NULL: it has none */
    uint32_t build_id_bytes;
    bool hidden;
    uint32_t number;
};

struct search {
    uint64_t *places;
    uint32_t count;
    uint16_t of[NATIVE_DEPTH + 1]; /* place -> module + 1 */
    struct module modules[MOST_MODULES];
    uint32_t module_count;
};

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
static void find_build_id(struct module *module, const uint8_t *at, size_t bytes)
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
            !memcmp(at + sizeof note, "GNU", 4) && note.n_descsz <= MOST_BUILD_ID) {
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

static uint16_t add_module(struct search *search, const struct dl_phdr_info *info)
{
    struct module *module = &search->modules[search->module_count];

    if (search->module_count == MOST_MODULES)
        return 0;
    *module = (struct module){.base = info->dlpi_addr, .path = info->dlpi_name};
    for (unsigned i = 0; i < info->dlpi_phnum && !module->build_id; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            find_build_id(module, (const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                          info->dlpi_phdr[i].p_memsz);
    return (uint16_t)++search->module_count;
}

static int look_at(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct search *search = context;
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

static void number_module(struct module *module, struct stack_store *store)
{
    union {
        struct stored_module module;
        char bytes[sizeof(struct stored_module) + MOST_PATH + MOST_BUILD_ID];
    } key;
    char program[MOST_PATH];
    const char *path = module->path;
    size_t length;

    /* The program itself has no name. */
    if (!path || !*path) {
        ssize_t got = readlink("/proc/self/exe", program, sizeof program - 1);

        program[got > 0 ? got : 0] = '\0';
        path = program;
    }
    module->hidden = is_hidden(path);
    length = strnlen(path, MOST_PATH - 1);
    key.module = (struct stored_module){(uint32_t)length, module->build_id_bytes};
    memcpy(key.bytes + sizeof key.module, path, length);
    if (module->build_id)
        memcpy(key.bytes + sizeof key.module + length, module->build_id, module->build_id_bytes);
    module->number = store_module(store, &key, sizeof key.module + length + module->build_id_bytes);
}

uint32_t native_place(struct stack_store *store, uint64_t *places, uint32_t count)
{
    uint64_t natives[NATIVE_DEPTH + 1];
    uint32_t at[NATIVE_DEPTH + 1] = {0};
    struct search search = {.places = natives};
    uint32_t hidden = 0;

    for (uint32_t i = 0; i < count && search.count <= NATIVE_DEPTH; i++) {
        if (!PLACE_IS_NATIVE(places[i]))
            continue;
        at[search.count] = i;
        natives[search.count++] = places[i];
    }
    if (!search.count)
        return 0;
    dl_iterate_phdr(look_at, &search);
    for (uint32_t i = 0; i < search.module_count; i++)
        number_module(&search.modules[i], store);
    for (uint32_t i = 0; i < search.count; i++) {
        const struct module *module = search.of[i] ? &search.modules[search.of[i] - 1] : NULL;

        if (!module || !module->number)
            continue;
        /* A sanitizer's backtrace stands before ours. */
        if (module->hidden && (at[i] == hidden || (!hidden && at[i] <= 2)))
            hidden = at[i] + 1;
        places[at[i]] = PLACE_NATIVE | (uint64_t)module->number << PLACE_MODULE_SHIFT |
                        (PLACE_ADDRESS(places[at[i]]) - module->base);
    }
    return hidden;
}
