/* The summaries of several processes in one: for each name the sums over all processes, and its
 * part in each process.
 *
 *     process 0   gemm  calls 3  total 30      ---\   gemm   calls 5  total 90  least  9 ...
 *     process 1   gemm  calls 2  total 60      ---/          parts: (0, 3, 30) (1, 2, 60)
 *
 * Counts, sums, least and greatest are integers, so the result is exactly that of one summary over
 * all rows. Memory depends on the names, and on the parts if they are kept.
 */
#ifndef MP_REPORTS_SUMMARY_MERGE_H
#define MP_REPORTS_SUMMARY_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reports/summary/summary.h"

/* The sums of one name in one process that has it. */
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
    bool recorded[SUMMARY_GROUPS]; /* whether any of the recorders was to record this group */
    struct kernel_time kernels;
    bool keep_parts;
    size_t processes; /* that were added */
};

/* Sets up; allocates nothing. */
void summary_merge_init(struct summary_merge *merge, bool keep_parts);

/* Adds the summary of the process with this number. Numbers come in ascending order. MP_ERR_MEMORY.
 */
enum mp_status summary_merge_add(struct summary_merge *merge, const struct summary *summary,
                                 uint32_t process);

/* Makes the rows, after the last summary was added. MP_ERR_MEMORY. */
enum mp_status summary_merge_finish(struct summary_merge *merge);

void summary_merge_free(struct summary_merge *merge);

/* The parts of a row, by process; *count of them. */
const struct summary_part *summary_merge_parts(const struct merged_group *group,
                                               const struct summary_row *row, size_t *count);

/* The process whose total is farthest from the mean over all processes. A process without the name
 * has a total of 0. */
struct summary_outlier {
    uint32_t process; /* UINT32_MAX: none, all totals are the same */
    double mean;      /* ns: over the processes, not over the calls */
    double percent;   /* its distance in percent of the mean; negative: below the mean */
};

/* `is_read[i]`: process i was added. If two processes are equally far from the mean, the one with
 * more time is taken, then the first one. */
struct summary_outlier summary_merge_outlier(const struct summary_merge *merge,
                                             const struct summary_part *parts, size_t count,
                                             const bool *is_read);

#endif
