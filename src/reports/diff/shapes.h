/* Launch shapes in words, for comparing kernels by name and shape:
 *
 *     gemm<<<(28,4,1),(128,1,1),49152>>>      grid, block, dynamic shared memory in bytes
 *
 * Memory: 40 bytes a row of `shape`.
 */
#ifndef MP_REPORTS_DIFF_SHAPES_H
#define MP_REPORTS_DIFF_SHAPES_H

#include <miniprof/trace.h>

#include "base/status.h"
#include "profile/dense.h"
#include "reports/diff/samples.h"

/* Zeroed, it is empty. */
struct diff_shapes {
    struct dense shapes; /* by id */
};

/* Reads the shapes of a trace. MP_ERR_IO, MP_ERR_MEMORY; diff_shapes_free in any case. */
enum mp_status diff_shapes_load(struct diff_shapes *shapes, struct mp_trace *trace,
                                struct mp_error *error);

void diff_shapes_free(struct diff_shapes *shapes);

/* The item of a kernel of this name with the shape of this id. If the trace does not have the
 * shape, the item is that of the name alone. MP_ERR_MEMORY. */
enum mp_status diff_shapes_item(struct diff_shapes *shapes, struct diff_samples *samples,
                                uint64_t id, const char *name, uint32_t *item);

#endif
