/* What the dynamic linker has loaded, as an application's thread may ask inside of a CUDA call.
 *
 * The linker has two locks. dlopen holds the first while constructors run. One of these may wait
 * for a thread that is inside of a CUDA call: ours. dlsym takes that lock, so here it would wait
 * for ever. The second guards the list of what is loaded, for as long as the list is changed or
 * read. Nothing of the application runs meanwhile, so whoever holds it waits for nobody.
 * dl_iterate_phdr takes the second alone, and may be called by a thread that holds it.
 */
#ifndef MP_RECORD_PLACES_LOADED_H
#define MP_RECORD_PLACES_LOADED_H

#include <stdbool.h>
#include <stdint.h>

/* How many modules were unloaded until now: as long as this stays, so does the meaning of each
 * address on a stack. 15 ns. */
uint64_t loaded_removals(void);

/* Whether a module defines the symbol. True also if one has no table in which to look it up. About
 * 50 ns a module. */
bool loaded_defines(const char *name);

#endif
