/* Names native frames, module by module. What has no symbol is named by its module and address. */
#include "profile/stacks/call_stacks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/algorithms.h"
#include "base/text/names.h"
#include "profile/names/names.h"

#include "base/poison.h"

/* ---- Symbols ----
 *
 * Functions and lines of native code, by libdw where it is installed.
 *
 *     struct symbols *symbols = symbols_open();                        // NULL: no libdw
 *     struct symbols_module *module = symbols_module(symbols, path, build_id);
 *     if (module && symbols_find(module, address, &symbol))
 *         use(symbol.name, symbol.file, symbol.line);
 *     symbols_close_module(module);
 *     symbols_close(symbols);
 *
 * A module counts only if its file has the build id that the trace tells. Nothing is fetched
 * from the network: debug information is what is installed on this machine.
 */

/* Owned by the module, valid until it is closed. */
struct symbol {
    const char *name; /* as in the file: mangled */
    const char *file; /* NULL: unknown */
    uint32_t line;    /* 0: unknown */
};

#define MAX_BUILD_ID 64

struct callbacks {
    int (*find_elf)(void *, void **, const char *, uint64_t, char **, void **);
    int (*find_debuginfo)(void *, void **, const char *, uint64_t, const char *, const char *,
                          uint32_t, char **);
    int (*section_address)(void *, void **, const char *, uint64_t, const char *, uint32_t,
                           const void *, uint64_t *);
    char **debuginfo_path;
};

struct symbols {
    void *library;
    struct callbacks callbacks;
    void *(*begin)(const struct callbacks *);
    void *(*report)(void *, const char *, const char *, int, uint64_t, bool);
    int (*report_end)(void *, void *, void *);
    int (*build_id)(void *, const unsigned char **, uint64_t *);
    const char *(*name)(void *, uint64_t);
    void *(*line)(void *, uint64_t);
    const char *(*line_info)(void *, uint64_t *, int *, int *, uint64_t *, uint64_t *);
    void (*end)(void *);
};

struct symbols_module {
    const struct symbols *symbols;
    void *session;
    void *module;
};

static bool load(struct symbols *symbols)
{
    const struct {
        void *to;
        const char *name;
    } functions[] = {
        {&symbols->begin, "dwfl_begin"},
        {&symbols->report, "dwfl_report_elf"},
        {&symbols->report_end, "dwfl_report_end"},
        {&symbols->build_id, "dwfl_module_build_id"},
        {&symbols->name, "dwfl_module_addrname"},
        {&symbols->line, "dwfl_module_getsrc"},
        {&symbols->line_info, "dwfl_lineinfo"},
        {&symbols->end, "dwfl_end"},
        {&symbols->callbacks.find_elf, "dwfl_build_id_find_elf"},
        {&symbols->callbacks.find_debuginfo, "dwfl_standard_find_debuginfo"},
    };

    symbols->library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!symbols->library)
        return false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(symbols->library, functions[i].name);

        if (!function)
            return false;
        memcpy(functions[i].to, &function, sizeof function);
    }
    return true;
}

static void symbols_close(struct symbols *symbols)
{
    if (!symbols)
        return;
    if (symbols->library)
        dlclose(symbols->library);
    free(symbols);
}

static struct symbols *symbols_open(void)
{
    struct symbols *symbols = calloc(1, sizeof *symbols);

    if (!symbols)
        return NULL;
    /* libdw would ask the servers of this variable, for gigabytes. */
    unsetenv("DEBUGINFOD_URLS");
    if (load(symbols))
        return symbols;
    symbols_close(symbols);
    return NULL;
}

/* Whatever the trace names: only a regular file is read. */
static int open_file(const char *path)
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat stat;

    if (file < 0 || (!fstat(file, &stat) && S_ISREG(stat.st_mode)))
        return file;
    close(file);
    return -1;
}

static bool has_build_id(const struct symbols *symbols, void *module, const char *expected)
{
    const unsigned char *bits = NULL;
    uint64_t address;
    int bytes = symbols->build_id(module, &bits, &address);
    char hex[2 * MAX_BUILD_ID + 1] = "";

    for (int i = 0; i < bytes && i < MAX_BUILD_ID; i++)
        snprintf(hex + 2 * (size_t)i, 3, "%02x", bits[i]);
    return !strcmp(hex, expected);
}

static bool report_file(struct symbols_module *module, const char *path)
{
    const struct symbols *symbols = module->symbols;
    int file = open_file(path);

    if (file < 0)
        return false;
    module->module = symbols->report(module->session, path, path, file, 0, true);
    if (!module->module)
        close(file);
    return module->module && !symbols->report_end(module->session, NULL, NULL);
}

static void symbols_close_module(struct symbols_module *module)
{
    if (!module)
        return;
    if (module->session)
        module->symbols->end(module->session);
    free(module);
}

/* The module of this file; NULL if it is not here, or another one. `build_id` is hexadecimal, ""
 * if it has none. */
static struct symbols_module *symbols_module(struct symbols *symbols, const char *path,
                                             const char *build_id)
{
    struct symbols_module *module = symbols ? calloc(1, sizeof *module) : NULL;

    if (!module)
        return NULL;
    module->symbols = symbols;
    module->session = symbols->begin(&symbols->callbacks);
    if (module->session && report_file(module, path) &&
        has_build_id(symbols, module->module, build_id))
        return module;
    symbols_close_module(module);
    return NULL;
}

/* The function around an address of the file. */
static bool symbols_find(struct symbols_module *module, uint64_t address, struct symbol *symbol)
{
    const struct symbols *symbols = module->symbols;
    void *at = symbols->line(module->module, address);
    int line = 0;

    *symbol = (struct symbol){.name = symbols->name(module->module, address)};
    if (at)
        symbol->file = symbols->line_info(at, NULL, &line, NULL, NULL, NULL);
    symbol->line = symbol->file && line > 0 ? (uint32_t)line : 0;
    return symbol->name != NULL;
}

/* ---- Frames ---- */

#define LONGEST_NAME 1024

struct naming {
    struct call_stacks *stacks;
    const struct native_module *module;
    struct symbols_module *symbols;
    const char *program;   /* NULL: not known */
    bool is_program;       /* `module` is the program's own file */
    struct mp_arena arena; /* of demangled names, for one frame */
    struct mp_buffer key;  /* name, NUL, file */
    size_t first_code;     /* the first id after those of the trace */
};

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static void put_key(struct naming *naming, const char *name, const char *file)
{
    mp_buffer_clear(&naming->key);
    mp_buffer_append_text(&naming->key, name);
    mp_buffer_append_byte(&naming->key, '\0');
    if (file)
        mp_buffer_append_text(&naming->key, file);
}

static void put_symbol(struct naming *naming, const struct symbol *symbol)
{
    const char *readable = names_demangle(symbol->name, NAMES_READABLE, &naming->arena);
    const char *file = symbol->file ? symbol->file : naming->module->path;
    char plain[LONGEST_NAME];

    mp_plain_name(readable, true, plain, sizeof plain);
    plain[strcspn(plain, "@")] = '\0'; /* memcpy@@GLIBC_2.14 */
    put_key(naming, plain, file);
}

static void put_address(struct naming *naming, uint64_t address)
{
    const char *path = naming->module ? naming->module->path : NULL;
    struct mp_buffer name = {.data = NULL};

    mp_buffer_append_format(&name, "%s+0x%" PRIx64, path ? last_part(path) : "<no module>",
                            address);
    mp_buffer_append_byte(&name, '\0');
    put_key(naming, name.status ? "<unknown>" : (const char *)name.data, path);
    mp_buffer_free(&name);
}

/* The id of the function in `key`; 0 without memory. */
static uint32_t code_of_key(struct naming *naming)
{
    struct call_stacks *stacks = naming->stacks;
    uint32_t id = naming->key.status
                      ? 0
                      : mp_intern_add(&stacks->natives, naming->key.data, naming->key.size);
    size_t code = naming->first_code + id;

    if (!id || dense_reach(&stacks->codes, code))
        return 0;
    const char *text = mp_intern_get(&stacks->natives, id, NULL);
    *(struct stack_code *)dense_at(&stacks->codes, code) = (struct stack_code){
        .name = text, .file = text[strlen(text) + 1] ? text + strlen(text) + 1 : NULL};
    return (uint32_t)code;
}

static enum mp_status name_frame(struct naming *naming, const struct native_frame *native)
{
    struct stack_frame *frame = dense_at(&naming->stacks->frames, native->frame);
    struct symbol symbol = {.name = NULL};

    if (!frame)
        return MP_OK;
    /* The call is before what it returns to. */
    if (naming->symbols && native->address &&
        symbols_find(naming->symbols, native->address - 1, &symbol))
        put_symbol(naming, &symbol);
    else
        put_address(naming, native->address);
    frame->code = code_of_key(naming);
    frame->line = symbol.name ? symbol.line : 0;
    frame->program = naming->is_program;
    mp_arena_reset(&naming->arena);
    return frame->code ? MP_OK : MP_ERR_MEMORY;
}

MP_COMPARE(by_module, struct native_frame,
           MP_ORDER(a->module, b->module) ?: MP_ORDER(a->frame, b->frame));

/* Python's own file is the interpreter, not the program. */
static bool is_program(const char *path, const char *program)
{
    return program && !strcmp(path, program) &&
           strncmp(last_part(path), "python", strlen("python")) != 0;
}

static void enter_module(struct naming *naming, struct symbols *symbols,
                         const struct native_module *module)
{
    symbols_close_module(naming->symbols);
    naming->module = module;
    naming->is_program = module && module->path && is_program(module->path, naming->program);
    naming->symbols =
        module && module->path
            ? symbols_module(symbols, module->path, module->build_id ? module->build_id : "")
            : NULL;
    if (!module || !module->path || naming->symbols)
        return;
    if (!naming->stacks->unnamed_count++)
        naming->stacks->unnamed = module->path;
}

enum mp_status natives_name(struct natives *natives, struct call_stacks *stacks)
{
    struct naming naming = {
        .stacks = stacks, .program = natives->program, .first_code = stacks->codes.count};
    struct symbols *symbols = natives->count ? symbols_open() : NULL;
    enum mp_status status = MP_OK;

    if (!natives->count)
        return MP_OK;
    mp_arena_init(&naming.arena, 4096);
    stacks->has_natives = true;
    stacks->has_symbols = symbols != NULL;
    stacks->codes.limit = naming.first_code + natives->count + 1;
    qsort(natives->frames, natives->count, sizeof *natives->frames, by_module);
    for (size_t i = 0; !status && i < natives->count; i++) {
        const struct native_frame *frame = &natives->frames[i];

        if (!i || frame->module != frame[-1].module)
            enter_module(&naming, symbols, dense_at(&natives->modules, frame->module));
        status = name_frame(&naming, frame);
    }
    symbols_close_module(naming.symbols);
    symbols_close(symbols);
    mp_arena_free(&naming.arena);
    mp_buffer_free(&naming.key);
    return status;
}

void natives_free(struct natives *natives)
{
    dense_free(&natives->modules);
    free(natives->frames);
}
