/* The summaries of several processes in one: for each name the sums over all processes, and its
 * part in each process.
 *
 *     process 0   gemm  calls 3  total 30      ---\   gemm   calls 5  total 90  min  9 ...
 *     process 1   gemm  calls 2  total 60      ---/          parts: (0, 3, 30) (1, 2, 60)
 *
 * Counts, sums, min and max are integers, so the result is exactly that of one summary over
 * all rows. Memory depends on the names, and on the parts if they are kept.
 */
#ifndef MP_REPORTS_SUMMARY_MERGE_H
#define MP_REPORTS_SUMMARY_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/json.h"
#include "profile/set.h"
#include "reports/summary/summary.h"
#include "table/table.h"

/* The sums of one name in one process that has it. */
struct summary_part {
    uint32_t name; /* number in the group's names */
    uint32_t process;
    uint64_t calls;
    uint64_t total; /* ns */
};

struct merged_group {
    struct summary_group all;   /* its rows are made by summary_merge_finish */
    struct dense tallies;       /* of struct tally, by name; the work of merging */
    struct summary_part *parts; /* by name, then by process; owned */
    size_t *first_parts;        /* by name, and one more; owned */
    size_t part_count, part_capacity;
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

/* ---- Printing ---- */

/* What is known of one process, apart from its rows. */
struct merged_process {
    char *warning;          /* owned by the caller; NULL: the data is whole */
    struct quality quality; /* what else is to be said of it; owns nothing */
    uint64_t dropped;
};

struct merged_report {
    const struct trace_set *set;
    const struct summary_merge *merge;
    const struct merged_process *found; /* by process of the set */
    const bool *is_read;                /* likewise: whether its rows are in */
    unsigned parts;                     /* bits of enum summary_parts; 0: both groups */
    uint64_t range;                     /* capture range; 0: all */
};

/* One table over all processes, in the layout of a summary. */
void print_merged(const struct report_out *out, const struct merged_report *report);

/* A row for each name, two columns for each process; `merge` must have kept its parts. If there are
 * more processes than a table has columns for, text and CSV come as several tables. MP_ERR_MEMORY.
 */
enum mp_status print_side_by_side(const struct report_out *out, const struct merged_report *report);

#endif
