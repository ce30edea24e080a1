/* Asks libdw, which is loaded when it is needed. The few types and functions below are those of
 * elfutils/libdwfl.h; they have not changed since version 0.126.
 */
#include "profile/stacks/symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/poison.h"

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

struct symbols *symbols_open(void)
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

void symbols_close(struct symbols *symbols)
{
    if (!symbols)
        return;
    if (symbols->library)
        dlclose(symbols->library);
    free(symbols);
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

struct symbols_module *symbols_module(struct symbols *symbols, const char *path,
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

void symbols_close_module(struct symbols_module *module)
{
    if (!module)
        return;
    if (module->session)
        module->symbols->end(module->session);
    free(module);
}

bool symbols_find(struct symbols_module *module, uint64_t address, struct symbol *symbol)
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
