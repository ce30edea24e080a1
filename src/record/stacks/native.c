/* Walks native frames by libunwind or glibc, weaves Python's frames into them, and finds the
 * modules that the frames are in.
 */
#include "record/stacks/native.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

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
        memcpy(&note, at, sizeof note);
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t data = ((size_t)note.n_descsz + 3) & ~(size_t)3;
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

/* ---- Walking ---- */

/* HP's libunwind; LLVM's has another name and no such function. It is never closed. */
void native_open(struct native *native)
{
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    void *addresses[4];

    if (library)
        *(void **)&native->walk = dlsym(library, "unw_backtrace");
    native->caches = native->walk != NULL;
    if (!native->walk) {
        native->walk = backtrace;
        mp_log_info("MINIPROF_STACKS: glibc unwinds native stacks; libunwind.so.8 (the package "
                    "libunwind8) would take a fifth of its time");
    }
    /* The first walk of glibc loads a library, so it may not come in a call. */
    if (backtrace(addresses, 4) > 0 && native->walk(addresses, 4) > 0)
        return;
    native->walk = NULL;
    mp_log_warn("MINIPROF_STACKS: the stack cannot be unwound here: no native stacks");
}

/* libunwind keeps how to unwind at an address, and unw_flush_cache leaves that as it is (1.6.2).
 * If another module is at the address, the walk reads what is no frame. So the first unload after
 * its first walk ends its use; glibc, which asks the linker each time, goes on. */
static bool is_stale(struct native *native, uint64_t unloads)
{
    uint64_t first = 0;

    if (!native->caches ||
        atomic_compare_exchange_strong(&native->first_unloads, &first, unloads + 1) ||
        first == unloads + 1)
        return false;
    if (!atomic_exchange(&native->stale_said, true))
        mp_log_info("MINIPROF_STACKS: the program unloads modules: glibc unwinds native stacks "
                    "from now on, which takes five times as long");
    return true;
}

uint32_t native_walk(struct native *native, uint64_t unloads, uint64_t places[NATIVE_DEPTH + 1])
{
    void *addresses[NATIVE_DEPTH + 1];
    int count = is_stale(native, unloads) ? backtrace(addresses, NATIVE_DEPTH + 1)
                                          : native->walk(addresses, NATIVE_DEPTH + 1);

    for (int i = 0; i < count; i++)
        places[i] = PLACE_NATIVE | (uintptr_t)addresses[i];
    if (count > (int)NATIVE_DEPTH)
        places[NATIVE_DEPTH] = (uint64_t)CODE_CUT << 32;
    return count > 0 ? (uint32_t)count : 0;
}

static bool is_evaluator(const struct native_stacks *stacks, uint32_t index)
{
    return stacks->evaluators[index / 64] >> index % 64 & 1;
}

static uint32_t mark_evaluators(const struct evaluator *evaluator, struct native_stacks *stacks)
{
    uint32_t frames = stacks->native_count < NATIVE_DEPTH ? stacks->native_count : NATIVE_DEPTH;
    uint32_t count = 0;

    memset(stacks->evaluators, 0, sizeof(stacks->evaluators));
    for (uint32_t i = 0; i < frames; i++)
        if (evaluator_has(evaluator, PLACE_ADDRESS(stacks->native[i]))) {
            stacks->evaluators[i / 64] |= UINT64_C(1) << i % 64;
            count++;
        }
    return count;
}

void native_find_evaluators(struct evaluator *evaluator, const struct walk *walk,
                            struct native_stacks *stacks)
{
    uint32_t begun = 0;

    for (uint32_t i = 0; i < stacks->python_count; i++)
        begun += stacks->python[i] & PLACE_ENTRY;
    stacks->evaluator_count = mark_evaluators(evaluator, stacks);
    if (__builtin_expect(stacks->evaluator_count >= begun || stacks->native_count > NATIVE_DEPTH,
                         1))
        return;
    evaluator_learn(evaluator, walk->records, walk->record_count);
    stacks->evaluator_count = mark_evaluators(evaluator, stacks);
}

/* A stack in the making. */
struct splice {
    uint64_t *to;
    uint32_t count, room;
    const struct native_stacks *of;
    uint32_t next; /* Python's frames that are put */
};

static void put(struct splice *splice, uint64_t place)
{
    if (splice->count < splice->room)
        splice->to[splice->count++] = place;
}

/* Python's frames up to the one with which an evaluator began; all of them if there is no more
 * evaluator. */
static void put_evaluated(struct splice *splice, bool last)
{
    while (splice->next < splice->of->python_count) {
        uint64_t place = splice->of->python[splice->next++];

        put(splice, place);
        if ((place & PLACE_ENTRY) && !last)
            return;
    }
}

uint32_t native_splice(const struct native_stacks *stacks, uint64_t *to, uint32_t room)
{
    struct splice splice = {.to = to, .room = room, .of = stacks};
    uint32_t evaluators = stacks->evaluator_count;

    if (stacks->python_count && !evaluators) {
        put_evaluated(&splice, true);
        return splice.count;
    }
    for (uint32_t i = 0; i < stacks->native_count; i++)
        if (is_evaluator(stacks, i))
            put_evaluated(&splice, --evaluators == 0);
        else
            put(&splice, stacks->native[i]);
    return splice.count;
}
