/* CUPTI's contexts and streams, as its own records describe them, and whose a stream is.
 *
 * A green context has some of the SMs of its parent. Rows of work name the green context of their
 * stream. Rows about the stream, and those of calls, name the context that is current, which is the
 * parent (seen with CUPTI 13.0 on an H100):
 *
 *     kernel         context 2, stream 17
 *     stream_info    context 1, stream 17
 *     sync           context 1, stream 17      cuStreamSynchronize
 *
 * No two streams of a context and its green contexts have the same id. So a stream of the parent
 * belongs to the green context that ran work in a stream of that id. The rules stand here only; in
 * a trace without green contexts they change nothing.
 */
#ifndef MP_PROFILE_CONTEXTS_H
#define MP_PROFILE_CONTEXTS_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/dense.h"

struct context {
    uint64_t device;          /* ordinal */
    uint64_t null_stream;     /* CUPTI's id */
    uint64_t parent;          /* CUPTI's id; 0: it is no green context */
    uint64_t multiprocessors; /* of a green context; 0: CUPTI does not say */
    bool defined;
};

struct stream_description {
    int64_t priority; /* lower runs first */
    uint64_t flag;    /* enum stream_flag */
};

struct contexts {
    struct dense items;     /* of struct context, by CUPTI's id */
    struct mp_map owners;   /* key of a parent and a stream -> the green context */
    struct mp_map by_names; /* key of a context and a stream, as CUPTI names them -> streams[] */
    struct stream_description *streams;
    size_t stream_count, stream_capacity;
};

/* Key of a stream among all contexts. */
static inline uint64_t contexts_key(uint64_t context, uint64_t stream)
{
    return context << 32 | (stream & UINT32_MAX);
}

/* Sets up; allocates nothing. Ids of contexts stay below `limit` (definitions_limit). */
void contexts_init(struct contexts *contexts, size_t limit);
void contexts_free(struct contexts *contexts);

/* Adds the columns that contexts_take needs to the masks, which have the order of mp_tables(). */
void contexts_columns(uint32_t *masks);

/* Keeps the rows of a batch of `context_info` and `stream_info`; other tables are passed over. Adds
 * the contexts whose ids are beyond the limit to *refused. MP_OK or MP_ERR_MEMORY. */
enum mp_status contexts_take(struct contexts *contexts, const struct mp_batch *batch,
                             uint64_t *refused);

/* Work ran in this stream, as the trace has it. Called when all contexts are known, and before the
 * questions below. MP_OK or MP_ERR_MEMORY. */
enum mp_status contexts_claim(struct contexts *contexts, uint64_t context, uint64_t stream);

/* NULL: the trace does not describe it. */
const struct context *contexts_find(const struct contexts *contexts, uint64_t id);

/* The parent of a green context; 0 of any other. */
uint64_t contexts_parent(const struct contexts *contexts, uint64_t id);

/* The context that a stream belongs to, if a row names it with `context`. */
uint64_t contexts_owner(const struct contexts *contexts, uint64_t context, uint64_t stream);

/* What CUPTI says of a stream that belongs to `context`; NULL: nothing. */
const struct stream_description *contexts_stream(const struct contexts *contexts, uint64_t context,
                                                 uint64_t stream);

#endif
