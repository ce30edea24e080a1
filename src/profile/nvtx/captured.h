/* The NVTX ranges in which the nodes of CUDA graphs were captured, or added by hand.
 *
 * A kernel, copy or set of a graph launch names its node. The original of the node was made once,
 * by a thread that had some ranges open. These ranges are the node's path, from the outermost to
 * the innermost one.
 *
 *     struct captured captured;
 *     captured_load(&captured, trace, &error);
 *     ...                                          // for each row of kernel, copy or set
 *     const struct captured_node *node = captured_find(&captured, row_node);
 *     for (uint32_t at = node ? node->path : 0; at; at = captured_path(&captured, at)->parent)
 *         use(captured_path(&captured, at)->name);  // innermost first
 *
 * A node has one path or none. It has none if no range was open, or if the open ranges are not
 * known: recording had not begun yet, the ranges began before the recording, the trace is older
 * than this table, or the node is in a child graph. The trace counts the paths that the recorder
 * lost: `dropped_paths`.
 *
 * The paths are read in a pass of their own over definitions, and not at all if there are none.
 * Memory: 32 bytes a path and its texts, 40 bytes a node that has one, 8 bytes for each node that
 * ran.
 */
#ifndef MP_PROFILE_NVTX_CAPTURED_H
#define MP_PROFILE_NVTX_CAPTURED_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/data/storage.h"
#include "base/status.h"
#include "profile/dense.h"

#define CAPTURED_MAX_DEPTH 1024u /* of a path that is followed outwards; the recorder's limit */

struct captured_path {
    uint32_t parent;    /* the range around it, an earlier path; 0: none is */
    uint32_t depth;     /* ranges up to this one, from 1 */
    const char *domain; /* NULL: the default one */
    const char *name;   /* of the innermost range */
    bool defined;
};

struct captured_node {
    uint32_t path;   /* never 0 */
    uint64_t thread; /* the trace's number of the one that made it */
};

struct captured {
    struct dense paths; /* of struct captured_path, by id */
    struct dense nodes; /* of uint32_t, by id of a row of `node`: position in items + 1 */
    struct captured_node *items;
    size_t count, capacity;
    struct mp_arena text;
    uint64_t undefined; /* names that are not in the file */
};

/* Reads a trace. MP_ERR_IO, MP_ERR_MEMORY; captured_free is due in any case. */
enum mp_status captured_load(struct captured *captured, struct mp_trace *trace,
                             struct mp_error *error);

void captured_free(struct captured *captured);

/* Whether any node has a path. */
static inline bool captured_has_any(const struct captured *captured)
{
    return captured->count != 0;
}

/* What is known of the node with this id (the value of a column `node`); NULL: nothing, no path. */
const struct captured_node *captured_find(const struct captured *captured, uint64_t node);

/* A path; never NULL for the path of a node and for its parents. */
const struct captured_path *captured_path(const struct captured *captured, uint32_t path);

#endif
