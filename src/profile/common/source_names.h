/* Names of activities as ids of an interning table. Each id of a source's id column is looked up
 * once and remembered.
 */
#ifndef MP_PROFILE_COMMON_SOURCE_NAMES_H
#define MP_PROFILE_COMMON_SOURCE_NAMES_H

#include "base/data/map.h"
#include "base/status.h"
#include "profile/activity.h"
#include "profile/dense.h"
#include "profile/quality.h"

#define SHORT_BYTES 256 /* longer short names are cut */

struct source_names {
    struct mp_intern *names;         /* where they go; not owned, as the next two */
    struct definitions *definitions; /* must be filled before a name is asked for */
    struct quality *quality;         /* counts ids without a name */
    enum names_style style;
    struct dense memos[ACTIVITY_SUMMARISED]; /* of uint32_t: names by the ids of a source's rows */
};

/* Sets up `memos` for a trace, once the other members are set; allocates nothing. */
void source_names_init(struct source_names *names, const struct mp_trace *trace);

/* The name of an id. An id beyond what the file can justify is looked up each time. API functions
 * are named without their version suffix. MP_OK or MP_ERR_MEMORY. */
enum mp_status source_names_find(struct source_names *names, enum activity_kind source, uint64_t id,
                                 uint32_t *name);

/* The short name of each kernel found so far, without parameters, template arguments and scopes.
 * Sets the items of `shorts` by the id of the full name; `shorts` has room for the present
 * names->count + 1. Items of other names stay as they are. MP_OK or MP_ERR_MEMORY. */
enum mp_status source_names_short(struct source_names *names, uint32_t *shorts);

/* The short name of a kernel, cut to `size` bytes. `mangled` and `readable` are two spellings of
 * one name. If a name alone says nothing (CUTLASS's Kernel2), it keeps the name of its first
 * template argument: `Kernel2<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>`. */
void source_short_name(const char *mangled, const char *readable, char *text, size_t size);

/* The last part of a readable name, and its length: without return type, scopes, template arguments
 * and parameters. */
const char *source_last_part(const char *readable, size_t *length);

void source_names_free(struct source_names *names);

#endif
