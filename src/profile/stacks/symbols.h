/* Functions and lines of native code, by libdw where it is installed.
 *
 *     struct symbols *symbols = symbols_open();                        // NULL: no libdw
 *     struct symbols_module *module = symbols_module(symbols, path, build_id);
 *     if (module && symbols_find(module, address, &symbol))
 *         use(symbol.name, symbol.file, symbol.line);
 *     symbols_close_module(module);
 *     symbols_close(symbols);
 *
 * A module counts only if its file has the build id that the trace tells. Nothing is fetched from
 * the network: debug information is what is installed on this machine.
 */
#ifndef MP_PROFILE_STACKS_SYMBOLS_H
#define MP_PROFILE_STACKS_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct symbols;
struct symbols_module;

/* Owned by the module, valid until it is closed. */
struct symbol {
    const char *name; /* as in the file: mangled */
    const char *file; /* NULL: unknown */
    uint32_t line;    /* 0: unknown */
};

struct symbols *symbols_open(void);
void symbols_close(struct symbols *symbols);

/* The module of this file; NULL if it is not here, or another one. `build_id` is hexadecimal, ""
 * if it has none. */
struct symbols_module *symbols_module(struct symbols *symbols, const char *path,
                                      const char *build_id);
void symbols_close_module(struct symbols_module *module);

/* The function around an address of the file. */
bool symbols_find(struct symbols_module *module, uint64_t address, struct symbol *symbol);

#endif
