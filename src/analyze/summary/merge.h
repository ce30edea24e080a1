/* The summaries of several processes in one: by name over all of them, and of each name what it
 * came to in each.
 *
 *     process 0   gemm  calls 3  total 30      ---\   gemm   calls 5  total 90  least  9 ...
 *     process 1   gemm  calls 2  total 60      ---/          parts: (0, 3, 30) (1, 2, 60)
 *
 * Counts, sums, least and greatest are integers, so the result is what one summary of all rows
 * would be. Memory goes with the names, and with the parts if they are kept.
 */
#ifndef MP_ANALYZE_SUMMARY_MERGE_H
#define MP_ANALYZE_SUMMARY_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/summary/summary.h"

/* What one name came to in one process that has it. */
struct summary_part {
    uint32_t name; /* number in the group's names */
    uint32_t process;
    uint64_t calls;
    uint64_t total; /* ns */
};

struct merged_group {
    struct mp_intern names;
    struct dense tallies;       /* of struct tally, by name; the work of merging */
    struct summary_row *rows;   /* after summary_merge_finish; owned */
    struct summary_part *parts; /* by name, then by process; owned */
    size_t *first_parts;        /* by name, and one more; owned */
    size_t row_count, part_count, part_capacity;
    uint64_t total; /* ns */
};

struct summary_merge {
    struct merged_group groups[SUMMARY_GROUPS];
    bool recorded[SUMMARY_GROUPS]; /* whether any of the recorders was asked for this group */
    bool keep_parts;
    size_t processes; /* that were added */
};

/* Sets up; allocates nothing. */
void summary_merge_init(struct summary_merge *merge, bool keep_parts);

/* Adds the summary of the process with this number, which is given in rising order. MP_ERR_MEMORY.
 */
enum mp_status summary_merge_add(struct summary_merge *merge, const struct summary *summary,
                                 uint32_t process);

/* After the last one: makes the rows. MP_ERR_MEMORY. */
enum mp_status summary_merge_finish(struct summary_merge *merge);

void summary_merge_free(struct summary_merge *merge);

/* The parts of a row, by process; *count of them. */
const struct summary_part *summary_merge_parts(const struct merged_group *group,
                                               const struct summary_row *row, size_t *count);

/* The process whose total is farthest from the mean over all processes; one that lacks the name has
 * a total of 0. */
struct summary_outlier {
    uint32_t process; /* UINT32_MAX: none is off, all have the same */
    double mean;      /* ns: over the processes, not over the calls */
    double percent;   /* its distance, of the mean; negative: less */
};

/* `is_read[i]`: process i is one of those that were added. Of two that are equally far off the one
 * with more time, and then the first, is taken. */
struct summary_outlier summary_merge_outlier(const struct summary_merge *merge,
                                             const struct summary_part *parts, size_t count,
                                             const bool *is_read);

#endif
