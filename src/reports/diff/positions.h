/* The kernels of one iteration of each side in the order of their launches, and which of them
 * correspond to each other.
 *
 * The iteration is the one at P50 of the latencies, from the run whose P50 is the median one. The
 * sequences are aligned by name (align.h). What lies between two pairs of equal kernels is a
 * change: kernels of A were removed, kernels of B were added, or kernels of A were replaced by
 * kernels of B, the first by the first.
 */
#ifndef MP_REPORTS_DIFF_POSITIONS_H
#define MP_REPORTS_DIFF_POSITIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "profile/common/align.h"
#include "reports/diff/samples.h"

/* A kernel, or a graph that was recorded as a whole, in its iteration. */
struct diff_place {
    uint64_t ns;
    uint32_t item; /* name: id in the side's kernels, in the result in those of both sides */
};

/* The median iteration of a run. */
struct diff_sequence {
    struct diff_place *places; /* owned */
    size_t count;
    uint64_t p50;     /* latency of the run */
    uint64_t begin;   /* of the iteration, ns of the recorder's clock */
    size_t iteration; /* its number in the run, from 1 */
    size_t run;       /* from 1 */
};

struct diff_sequences {
    struct diff_sequence *items; /* by run; owned */
    size_t count, capacity;
};

void diff_sequences_free(struct diff_sequences *sequences);

/* Consecutive pairs that are no pairs of equal kernels. */
struct diff_stretch {
    size_t first;      /* pair */
    size_t count;      /* pairs */
    uint32_t begin[2]; /* position of its first kernel on each side, from 0; if it has none there,
                          of what follows */
    uint32_t length[2];
    uint64_t ns[2];
};

/* A kernel and what it became. */
struct diff_pair {
    uint32_t place[2]; /* positions; ALIGN_NONE: there is none */
};

struct diff_positions {
    struct diff_sequence sides[2]; /* owned */
    struct mp_intern names;        /* by place.item */
    struct diff_pair *pairs;       /* in order; owned */
    size_t count;
    struct diff_stretch *changes; /* owned */
    size_t change_count;
    size_t equal;                    /* pairs of equal kernels */
    size_t added, removed, replaced; /* kernels; pairs of them */
};

/* Takes the median sequence of each side; `a` and `b` give names to their places. MP_ERR_MEMORY,
 * MP_ERR_LIMIT; else diff_positions_free. */
enum mp_status diff_positions_make(struct diff_sequences *a_sequences, const struct diff_samples *a,
                                   struct diff_sequences *b_sequences, const struct diff_samples *b,
                                   struct diff_positions *positions);

void diff_positions_free(struct diff_positions *positions);

const char *diff_positions_name(const struct diff_positions *positions, int side, uint32_t place);

#endif
