/* Names as nvprof prints them. */
#ifndef MP_PROFILE_NAMES_NAMES_H
#define MP_PROFILE_NAMES_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/data/storage.h"

#define NAMES_BYTES 64 /* enough for names_copy, names_graph and the like */

/* How C++ names are printed. The values 0 and 1 correspond to the former `bool demangle`. */
enum names_style {
    NAMES_MANGLED,  /* as the trace has them */
    NAMES_READABLE, /* as c++filt prints them */
    NAMES_NVPROF    /* as nvprof and cu++filt print them; see names_nvprof */
};

/* Patterns that nvprof's --context-name, --stream-name and --process-name give: `%i` in them stands
 * for the id. NULL: the id alone, as nvprof prints it without these options. Nothing is owned. */
struct names_patterns {
    const char *context;
    const char *stream;
    const char *process;
};

/* A C++ name in the wanted style, allocated in `arena`; `name` itself when it is not mangled,
 * cannot be demangled, or memory is out. */
const char *names_demangle(const char *name, enum names_style style, struct mp_arena *arena);

/* Rewrites what GNU's demangler printed in nvprof's spelling. `float const*` and `float const&`
 * become `float const *` and `float const &` (but `float*` stays). Template arguments that are
 * values get their types: `8`, `true`, `(Enum)3` become `int=8`, `bool=1`, `Enum=3`. Allocated in
 * `arena`; NULL when memory is out. */
const char *names_nvprof(const char *demangled, struct mp_arena *arena);

/* Length of an API function's name without what CUPTI appends: the version it changed in (_v2,
 * _v7000) and the per-thread default stream variant (_ptsz, _ptds), in any order and number. */
size_t names_api_length(const char *name);

/* `[CUDA memcpy HtoD]` for a value of the enumeration copy_kind. Return `buffer`. */
const char *names_copy(uint64_t kind, char *buffer, size_t size);

/* `Pageable`, in nvprof's words, for a value of the enumeration memory_kind. */
const char *names_memory(uint64_t kind);

/* `pthread_cond_wait` for a value of the enumeration wait_kind. */
const char *names_wait(uint64_t kind);

/* `[CUDA graph 7]`: nvprof has no row for a whole graph launch, so this name is ours. */
const char *names_graph(uint64_t graph, char *buffer, size_t size);

#endif
