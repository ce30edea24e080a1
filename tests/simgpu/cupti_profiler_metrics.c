/*
 * cupti_profiler_metrics.c: the metrics that the chip knows, how many passes they need, and what
 * their values are.
 *
 * Values follow from the launch by the rules below, so that a test can say them without running
 * anything; a metric without a rule has its position in cupti_profiler_metrics.def as its value.
 * Nothing here models a GPU.
 */
#include "cupti_profiler.h"

#include <fnmatch.h>
#include <string.h>

#define ROW(type, position, name, dimension)                                                       \
    {#name, type, position, dimension, dimension "/second", dimension "/cycle"},
#define COUNTER(position, name, dimension)    ROW(CT_COUNTER, position, name, dimension)
#define RATIO(position, name, dimension)      ROW(CT_RATIO, position, name, dimension)
#define THROUGHPUT(position, name, dimension) ROW(CT_THROUGHPUT, position, name, dimension)

static const struct ct_metric metrics[] = {
#include "cupti_profiler_metrics.def"
};

_Static_assert(CT_COUNT(metrics) <= (size_t)64 * CT_METRIC_WORDS, "CT_METRIC_WORDS is too small");

#define OF_PEAK(rollup)                                                                            \
    "." rollup ".pct_of_peak_sustained_active", "." rollup ".pct_of_peak_sustained_elapsed"
#define ALL(rollup)                                                                                \
    "." rollup, "." rollup ".peak_sustained", "." rollup ".peak_sustained_active",                 \
        "." rollup ".peak_sustained_active.per_second", "." rollup ".peak_sustained_elapsed",      \
        "." rollup ".peak_sustained_elapsed.per_second", "." rollup ".per_cycle_active",           \
        "." rollup ".per_cycle_elapsed", "." rollup ".per_second", OF_PEAK(rollup)

static const char *counter_suffixes[] = {ALL("avg"), ALL("max"), ALL("min"), ALL("sum")};
static const char *ratio_suffixes[] = {".max_rate", ".pct", ".ratio"};
static const char *throughput_suffixes[] = {OF_PEAK("avg"), OF_PEAK("max"), OF_PEAK("min"),
                                            OF_PEAK("sum")};

const char **ct_metricSuffixes(enum ct_metric_type type, size_t *count)
{
    if (type == CT_RATIO) {
        *count = CT_COUNT(ratio_suffixes);
        return ratio_suffixes;
    }
    if (type == CT_THROUGHPUT) {
        *count = CT_COUNT(throughput_suffixes);
        return throughput_suffixes;
    }
    *count = CT_COUNT(counter_suffixes);
    return counter_suffixes;
}

static bool is_suffix(enum ct_metric_type type, const char *suffix)
{
    size_t count;
    const char **known = ct_metricSuffixes(type, &count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(known[i], suffix) == 0)
            return true;
    return !*suffix;
}

const struct ct_metric *ct_metricFind(const char *name, const char **suffix)
{
    size_t length = strcspn(name, ".");

    *suffix = name + length;
    for (size_t i = 0; i < CT_COUNT(metrics); i++)
        if (strncmp(metrics[i].name, name, length) == 0 && !metrics[i].name[length])
            return is_suffix(metrics[i].type, *suffix) ? &metrics[i] : NULL;
    return NULL;
}

const char **ct_metricNames(enum ct_metric_type type, size_t *count)
{
    static const char *names[CT_METRIC_TYPES][CT_COUNT(metrics)];

    *count = 0;
    for (size_t i = 0; i < CT_COUNT(metrics); i++)
        if (metrics[i].type == type)
            names[type][(*count)++] = metrics[i].name;
    return names[type];
}

const char *ct_metricUnit(const struct ct_metric *metric)
{
    static const char *const units[] = {"dram",  "gpc",   "gpu",  "gr", "l1tex", "lts",
                                        "nvlrx", "nvltx", "pcie", "sm", "smsp",  "sys"};
    size_t length = strcspn(metric->name, "_");

    for (size_t i = 0; i < CT_COUNT(units); i++)
        if (strncmp(units[i], metric->name, length) == 0 && !units[i][length])
            return units[i];
    return "";
}

static bool is_percent(const char *suffix)
{
    return strstr(suffix, ".pct") != NULL;
}

static bool is_per_second(const char *suffix)
{
    return strstr(suffix, ".per_second") != NULL;
}

static bool is_per_cycle(const char *suffix)
{
    return strstr(suffix, ".per_cycle") != NULL;
}

const char *ct_metricDimension(const struct ct_metric *metric, const char *suffix)
{
    if (is_percent(suffix))
        return "percent";
    if (is_per_second(suffix))
        return metric->per_second;
    return is_per_cycle(suffix) ? metric->per_cycle : metric->dimension;
}

/* ---- values ---- */

enum quantity { DURATION, THREADS, WARPS };

static const struct rule {
    const char *name;
    enum quantity quantity;
    double factor;
} rules[] = {
    {"gpu__time_duration", DURATION, 1},
    {"smsp__warps_launched", WARPS, 1},
    {"smsp__inst_executed", WARPS, 10},
    {"sm__inst_executed", WARPS, 10},
    {"smsp__sass_thread_inst_executed_op_ffma_pred_on", THREADS, 2},
    {"smsp__sass_thread_inst_executed_op_fadd_pred_on", THREADS, 3},
    {"smsp__sass_thread_inst_executed_op_fmul_pred_on", THREADS, 5},
    {"dram__bytes_read", THREADS, 32},
    {"l1tex__t_requests_pipe_lsu_mem_global_op_ld", WARPS, 1},
};

/* Names with their suffixes whose value is the same for all launches. */
static const struct constant {
    const char *name;
    const char *suffix;
    double value;
} constants[] = {
    {"sm__warps_active", ".avg.pct_of_peak_sustained_active", 12.5},
    {"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld", ".pct", 25},
};

static const struct rule *find_rule(const char *name)
{
    for (size_t i = 0; i < CT_COUNT(rules); i++)
        if (strcmp(rules[i].name, name) == 0)
            return &rules[i];
    return NULL;
}

static uint64_t measured(const struct ct_range *range, enum quantity quantity)
{
    if (quantity == DURATION)
        return range->duration;
    return quantity == THREADS ? range->threads : range->warps;
}

/* The rollups agree; a cycle takes one nanosecond. */
static double ruled_value(const struct rule *rule, const char *suffix, const struct ct_range *range)
{
    double total = rule->factor * (double)measured(range, rule->quantity);
    double duration = (double)range->duration;

    if (is_per_second(suffix))
        return total / duration * 1e9;
    return is_per_cycle(suffix) ? total / duration : total;
}

double ct_metricValue(const struct ct_metric *metric, const char *suffix,
                      const struct ct_range *range)
{
    const struct rule *rule = find_rule(metric->name);

    if (range->is_graph)
        return 0;
    for (size_t i = 0; i < CT_COUNT(constants); i++)
        if (strcmp(constants[i].name, metric->name) == 0 &&
            strcmp(constants[i].suffix, suffix) == 0)
            return constants[i].value;
    if (is_percent(suffix))
        return metric->position % 100;
    return rule ? ruled_value(rule, suffix, range) : metric->position;
}

/* ---- sets and passes ---- */

/* What needs a pass of its own: of counters only the share of the peak. */
static bool is_costly(const struct ct_metric *metric, const char *suffix)
{
    static const char *const patterns[] = {
        "l1tex__average_t_sectors_per_request_*", "lts__t_sector*_hit_rate",
        "smsp__sass_thread_inst_executed_ops_*", "l1tex__lsu_writeback_active"};

    if (metric->type == CT_COUNTER && !is_percent(suffix))
        return false;
    for (size_t i = 0; i < CT_COUNT(patterns); i++)
        if (fnmatch(patterns[i], metric->name, 0) == 0)
            return true;
    return false;
}

static void set_bit(uint64_t words[CT_METRIC_WORDS], size_t index)
{
    words[index / 64] |= UINT64_C(1) << index % 64;
}

static bool has_bit(const uint64_t words[CT_METRIC_WORDS], size_t index)
{
    return words[index / 64] >> index % 64 & 1;
}

bool ct_metricsAdd(struct ct_metric_set *set, const char *const *names, size_t count)
{
    struct ct_metric_set grown = *set;

    for (size_t i = 0; i < count; i++) {
        const char *suffix;
        const struct ct_metric *metric = names[i] ? ct_metricFind(names[i], &suffix) : NULL;

        if (!metric || !*suffix)
            return false;
        set_bit(grown.members, (size_t)(metric - metrics));
        if (is_costly(metric, suffix))
            set_bit(grown.costly, (size_t)(metric - metrics));
    }
    *set = grown;
    return true;
}

bool ct_metricsHave(const struct ct_metric_set *set, const struct ct_metric *metric)
{
    return has_bit(set->members, (size_t)(metric - metrics));
}

bool ct_metricsContain(const struct ct_metric_set *set, const struct ct_metric_set *part)
{
    for (size_t i = 0; i < CT_METRIC_WORDS; i++)
        if (part->members[i] & ~set->members[i])
            return false;
    return true;
}

uint32_t ct_metricsCount(const struct ct_metric_set *set)
{
    uint32_t count = 0;

    for (size_t i = 0; i < CT_COUNT(metrics); i++)
        count += has_bit(set->members, i);
    return count;
}

/* Metrics of SASS come from patched code and cost none. */
uint32_t ct_metricsPasses(const struct ct_metric_set *set)
{
    uint32_t hardware = 0, costly = 0, passes;

    for (size_t i = 0; i < CT_COUNT(metrics); i++) {
        hardware += has_bit(set->members, i) && !strstr(metrics[i].name, "_sass_");
        costly += has_bit(set->costly, i);
    }
    passes = (hardware + CT_HARDWARE_METRICS_PER_PASS - 1) / CT_HARDWARE_METRICS_PER_PASS;
    return (passes ? passes : 1) + costly;
}
