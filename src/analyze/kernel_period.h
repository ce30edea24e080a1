/* The sequence of kernels that a program repeats, found from the sequence alone.
 *
 * An inference loop launches the same kernels with the same launch shapes again and again. In the
 * sequence of shapes, in order of launch, that is a stretch with a period:
 *
 *     w w x   a b c c   a b c c   a b c c   a b   y
 *             |-- 4 --|
 *             start 3, length 4, count 3, and two kernels of a fourth round
 *
 * A stretch counts when it holds at least three whole periods and at least half of all kernels; so
 * a warm-up before it and anything behind it may be as long as the rest together. Of all periods
 * the shortest is taken. The stretch is taken as long as it goes, so `start` may lie inside a round
 * if the warm-up ends as a round does.
 */
#ifndef MP_ANALYZE_KERNEL_PERIOD_H
#define MP_ANALYZE_KERNEL_PERIOD_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define KERNEL_PERIOD_LEAST_COUNT 3

struct kernel_period {
    size_t start;  /* index of the first kernel of the first round */
    size_t length; /* kernels of a round; 0: the sequence does not repeat itself */
    size_t count;  /* whole rounds, at least KERNEL_PERIOD_LEAST_COUNT */
};

/* Finds it among `count` launch shapes (any numbers that are equal for equal shapes). Linear time,
 * at most 10 bytes of memory a kernel, given back at the end. MP_ERR_MEMORY, MP_ERR_LIMIT (2^31
 * kernels). */
enum mp_status kernel_period_find(const uint32_t *shapes, size_t count,
                                  struct kernel_period *period);

#endif
