/* Names as nvprof prints them. */
#ifndef MP_MODEL_NAMES_H
#define MP_MODEL_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define NAMES_BYTES 64 /* enough for names_copy, names_graph and the like */

/* A C++ name in readable form, allocated in `arena`; `name` itself when it is not mangled, cannot
 * be demangled, or memory is out. */
const char *names_demangle(const char *name, struct mp_arena *arena);

/* Length of an API function's name without what CUPTI appends: the version it changed in (_v2,
 * _v7000) and the per-thread default stream variant (_ptsz, _ptds), in any order and number. */
size_t names_api_length(const char *name);

/* `[CUDA memcpy HtoD]` for a value of the enumeration copy_kind. Return `buffer`. */
const char *names_copy(uint64_t kind, char *buffer, size_t size);

/* `[CUDA graph 7]`: nvprof has no row for a whole graph launch, so this name is ours. */
const char *names_graph(uint64_t graph, char *buffer, size_t size);

#endif
