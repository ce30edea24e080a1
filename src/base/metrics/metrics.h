/* Metrics: nvprof's names and what they are made of today (metrics.def), and the expressions that
 * compute their values from what CUPTI counts.
 */
#ifndef MP_BASE_METRICS_METRICS_H
#define MP_BASE_METRICS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* ---- Expressions ----
 *
 * What a metric is computed from: a small formula over CUPTI's metrics.
 *
 *     expression = term { ("+" | "-") term }
 *     term       = primary { "*" primary | "/" primary }
 *     primary    = number | name | "(" expression ")"
 *
 * Two limits keep an expression one quotient of two sums. In a product, at most one side is not a
 * number. A quotient of two sums is neither added to anything nor divided again.
 *
 *     l1tex__t_sectors.sum
 *     2 * (lts__t_sectors_op_atom.sum + lts__t_sectors_op_red.sum)
 *     (a.sum + b.sum) / (c.sum + d.sum) * 100
 *
 * Nothing is allocated or printed. Any thread.
 */

#define METRIC_NAME_BYTES 160 /* of one name, with its NUL */
#define METRIC_MAX_INPUTS 12  /* distinct names in one expression */

/* A sum of inputs, each times its coefficient; 0 when it is not in it. */
struct metric_sum {
    double coefficients[METRIC_MAX_INPUTS];
};

struct metric_expression {
    char names[METRIC_MAX_INPUTS][METRIC_NAME_BYTES]; /* each once */
    size_t input_count;
    struct metric_sum above;
    struct metric_sum below; /* when `divided` */
    bool divided;
};

/* Reads `text`. MP_ERR_ARGUMENT, with one line that says where the mistake is; MP_ERR_LIMIT for too
 * many names or a too long one. After an error *expression must not be used. */
enum mp_status metric_expression_parse(const char *text, struct metric_expression *expression,
                                       struct mp_error *error);

/* Returns how many inputs the expression has. If `names` is not NULL, it must have room for
 * METRIC_MAX_INPUTS and receives the names, which `expression` owns. */
size_t metric_expression_inputs(const struct metric_expression *expression, const char **names);

/* The value, given the values of the inputs in the same order. NaN after a division by zero or when
 * an input is not finite; a report prints NaN as "-" and leaves it out of min, max and avg.
 */
double metric_expression_value(const struct metric_expression *expression, const double *inputs);

/* ---- The table ----
 *
 * Metrics by nvprof's names, and what they are made of today.
 *
 * A name is one of three things: a metric of nvprof, an event of nvprof, or a metric of CUPTI
 * itself (`sm__warps_active.avg.pct_of_peak_sustained_active`), which is its own expression. The
 * recorder finds out which expression a GPU can measure: it takes the first candidate whose inputs
 * CUPTI accepts.
 *
 *     metric_names_begin(&names, "achieved_occupancy,ipc");
 *     while (metric_names_next(&names, name))
 *         if (metric_look_up(name, &entry))
 *             for (i = 0; entry.candidates[i].expression; i++)
 *                 metric_expression_parse(entry.candidates[i].expression, &expression, &error);
 *
 * Everything here is constant or the caller's. Nothing is allocated or printed, so this code can
 * run inside the profiled program. Any thread.
 */

#define METRIC_MAX_CANDIDATES 4 /* the last of which is always the end of the list */

/* What a value is; the values of the enumeration metric_unit of trace/tables.def. */
enum metric_unit {
    METRIC_UNIT_NONE,
    METRIC_UNIT_COUNT,
    METRIC_UNIT_PERCENT, /* 0 to 100 */
    METRIC_UNIT_RATIO,
    METRIC_UNIT_BYTES,
    METRIC_UNIT_BYTES_PER_SECOND,
    METRIC_UNIT_NANOSECONDS,
    METRIC_UNIT_PER_SECOND,
    METRIC_UNIT_HERTZ,
    METRIC_UNIT_WATTS,
    METRIC_UNIT_CELSIUS
};

enum metric_kind { METRIC_KIND_METRIC, METRIC_KIND_EVENT, METRIC_KIND_RAW };

struct metric_candidate {
    const char *expression; /* NULL ends the list */
    const char *note;       /* how a substitute differs; NULL: it is exact, whatever its place */
};

struct metric_entry {
    const char *name;
    enum metric_kind kind;
    enum metric_unit unit;
    /* In order of preference: the first candidate that a GPU has is taken, and its note tells the
     * state (exact or substitute). No candidate at all: nvprof had the metric, and nothing
     * corresponds to it today (state `discontinued`). */
    struct metric_candidate candidates[METRIC_MAX_CANDIDATES];
};

/* The metric of nvprof, else its event, of this name; static, NULL when there is none. */
const struct metric_entry *metric_find(const char *name);

/* The one of that kind alone: `inst_executed` is both a metric and an event. */
const struct metric_entry *metric_find_of(enum metric_kind kind, const char *name);

/* All entries of one kind (METRIC_KIND_METRIC or METRIC_KIND_EVENT) in the order of their names;
 * static. */
const struct metric_entry *metric_entries(enum metric_kind kind, size_t *count);

/* nvprof's words for one of its metrics or events, short, as its column `Metric Description`;
 * static. For other names `name` itself. */
const char *metric_description(enum metric_kind kind, const char *name);

/* Whether a name has the form of one of CUPTI's metrics: `unit__counter`, with or without
 * `.rollup`. */
bool metric_is_raw(const char *name);

/* The unit that the suffixes of one of CUPTI's metric names imply. */
enum metric_unit metric_raw_unit(const char *name);

/* What a name stands for: nvprof's entry, or, for a name of CUPTI's form, an entry whose pointers
 * are to `name` itself. For an unknown name returns false and leaves *entry unchanged. */
bool metric_look_up(const char *name, struct metric_entry *entry);

/* The known name nearest to a mistaken one; static, NULL when none is near. */
const char *metric_suggest(const char *name);

/* A walk over a comma-separated list of names. `all` stands for all metrics of nvprof, `events` for
 * all of its events. Each name is delivered once, however often it is listed. Empty items are
 * skipped, and names of METRIC_NAME_BYTES or more are cut. */
struct metric_names {
    const char *list; /* the caller's; must outlive the walk */
    const char *cursor;
    const char *group;     /* the `all` or `events` whose entries come now; NULL: none */
    enum metric_kind kind; /* of them */
    size_t position;       /* next of them */
};

void metric_names_begin(struct metric_names *names, const char *list);

/* The next name into `name`; false at the end. */
bool metric_names_next(struct metric_names *names, char name[METRIC_NAME_BYTES]);

#endif
