/* Counters of the GPU that are sampled over time: their names, where they come from, and how their
 * values are stored.
 *
 * Constant; nothing is allocated or printed, so this code can run inside the profiled program.
 */
#ifndef MP_BASE_METRICS_SAMPLED_H
#define MP_BASE_METRICS_SAMPLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/metrics/metrics.h"

/* Who measures; the values of the enumeration counter_source of trace/tables.def. */
enum sampled_by { SAMPLED_BY_NOBODY, SAMPLED_BY_CUPTI, SAMPLED_BY_GPM, SAMPLED_BY_NVML };

/* Readings of NVML. */
enum sampled_nvml {
    SAMPLED_NVML_SM_CLOCK,
    SAMPLED_NVML_POWER,
    SAMPLED_NVML_MEMORY_CLOCK,
    SAMPLED_NVML_TEMPERATURE,
    SAMPLED_NVML_MEMORY_USED,
    SAMPLED_NVML_POWER_CAPPED,
    SAMPLED_NVML_TOO_HOT
};

struct sampled_source {
    const char *counter;
    enum sampled_by by;
    const char *expression; /* CUPTI's metric, or NVML's name */
    unsigned number;        /* GPM's id, or enum sampled_nvml */
    double factor;          /* of GPM */
};

struct sampled_entry {
    const char *name;
    const char *description;
    const char *other_names;
    bool preset; /* `default` has it */
    enum metric_unit unit;
    double step;
};

const struct sampled_entry *sampled_entries(size_t *count);

/* NULL when there is none. */
const struct sampled_entry *sampled_find(const char *name);

/* The nth way, from 0, in which `by` can measure the counter, the best first; NULL: no more. */
const struct sampled_source *sampled_source(const char *counter, enum sampled_by by, size_t nth);

/* Words for several counters in a list of names. */
#define SAMPLED_DEFAULT "default" /* those with `preset` */
#define SAMPLED_ALL     "all"

/* The known name or word nearest to a mistaken one, which may be nsys's or DCGM's name; static,
 * NULL when none is near. */
const char *sampled_suggest(const char *name);

/* What values of one of CUPTI's metrics are rounded to near 0, by its suffix. */
double sampled_raw_step(const char *name);

/* ---- Stored values ----
 *
 * Up to 511 steps a value is its number of steps. From there on each doubling has 256 values, so
 * the error is at most 0.2 % of the value. Values below 0 are 0. */
#define SAMPLED_UNKNOWN 65535u /* of what is not a number */

uint16_t sampled_pack(double value, double step);
double sampled_unpack(uint64_t packed, double step);

#endif
