/* Kernels without times, and whether they are too many for conclusions.
 *
 * CUPTI gives none for kernels that were under way when its clock was given again, which are few,
 * and for all nodes of CUDA graphs when kernels are recorded one after the other
 * (--concurrent-kernels off). What is left then is another program: the GPU seems idle.
 */
#ifndef MP_PROFILE_UNTIMED_H
#define MP_PROFILE_UNTIMED_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/status.h"

/* Of the whole trace, also where one capture range is reported. */
struct untimed {
    bool counted;
    bool serial;            /* recorded with --concurrent-kernels off */
    uint64_t kernels;       /* rows */
    uint64_t without;       /* of them, without a begin */
    uint64_t nodes;         /* rows of kernels that are nodes of CUDA graphs */
    uint64_t nodes_without; /* of them, without a begin */
};

/* Makes the cursor deliver these columns of one table and nothing else. */
void untimed_select_only(struct mp_cursor *cursor, unsigned table, uint64_t columns);

/* Reads the kernels, once. MP_ERR_IO, MP_ERR_MEMORY, with a text in *error. */
enum mp_status untimed_count(struct untimed *untimed, struct mp_trace *trace,
                             struct mp_error *error);

/* More than 2 % of the whole. */
bool untimed_share_is_too_much(uint64_t part, uint64_t whole);

/* More than 2 % of the kernels, or every kernel of CUDA graphs: busy time, idle causes, paths and
 * gains would be wrong. */
bool untimed_is_too_many(const struct untimed *untimed);

/* `12 of 15 kernels have no times (...); ...`, or an empty text where they are not too many.
 * Returns `text`. */
const char *untimed_describe(const struct untimed *untimed, char *text, size_t size);

#endif
