/* Kernels by their position in the sequence that a program repeats, for traces without layers.
 *
 * The kernels are put in order of launch: by correlation id, those of one graph launch by begin;
 * without ids all by begin. They are cut into rounds with equal launch shapes
 * (base/data/algorithms.h). The kernels at one position in all whole rounds make a row. Kernels
 * before or after the rounds, and in an incomplete round, are `others`.
 *
 * Memory: 28 bytes a kernel, and 12 more while the period is searched.
 */
#ifndef MP_REPORTS_LAYERS_POSITIONS_H
#define MP_REPORTS_LAYERS_POSITIONS_H

#include <miniprof/trace.h>

#include "base/status.h"
#include "profile/common/source_names.h"
#include "profile/common/statistics.h"
#include "profile/ranges.h"
#include "reports/layers/inside.h"

struct layer_position {
    const char *name; /* of the kernel; owned by the names */
    const char *short_name;
    uint64_t calls;
    uint64_t total;           /* ns */
    struct statistics device; /* of a call */
    double percent;           /* of all kernels */
};

struct layer_positions {
    struct layer_position *items; /* by position; owned */
    uint32_t *by_total;           /* their indexes; owned */
    size_t count;                 /* kernels of a round; 0: no sequence repeats itself */
    size_t start;                 /* kernels before the first round */
    size_t rounds;
    uint64_t kernels; /* all */
    uint64_t total;   /* ns of all */
    uint64_t others;  /* kernels in no whole round */
    uint64_t others_total;
};

/* Reads the kernels in a pass of its own. `range` and `found` NULL: all. Names, definitions and
 * quality are those of `names`. MP_ERR_IO, MP_ERR_MEMORY, MP_ERR_LIMIT (2^31 kernels);
 * layer_positions_free is due in any case. */
enum mp_status layer_positions_build(struct layer_positions *positions, struct mp_trace *trace,
                                     const struct capture_range *range,
                                     const struct layers_iterations *found,
                                     struct source_names *names, struct mp_error *error);

void layer_positions_free(struct layer_positions *positions);

#endif
