/* What the parts of this family share: samples and work of a trace, before anything is worked out.
 */
#ifndef MP_REPORTS_COUNTERS_PASS_H
#define MP_REPORTS_COUNTERS_PASS_H

#include <stddef.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/ranges.h"
#include "reports/counters/counters.h"

#define COUNTERS_MAX_A_SET 64u
#define COUNTERS_IDLE      0u   /* group of a device: nothing ran */
#define COUNTERS_NOT_KNOWN 0.25 /* a deviation that is this much of the spread says nothing */
#define COUNTERS_OTHERS    1u   /* all groups that are not looked at by themselves */

/* Counters that were measured together: by one source on one device. */
struct sample_set {
    uint64_t device;
    enum sampled_by by;
    size_t counters[COUNTERS_MAX_A_SET]; /* places in the result */
    size_t width;
    uint64_t *ends; /* of each sample, in order; owned */
    uint64_t *lengths;
    uint16_t *values; /* COUNTERS_MAX_A_SET of each sample would be too many: `width`; owned */
    size_t count;
    uint64_t earliest; /* begin of the first sample, in any capture range; UINT64_MAX: none */
    size_t end_capacity, length_capacity, value_capacity;
};

/* A stretch of work on a device. */
struct work_span {
    uint64_t start, end;
    uint32_t group; /* of the pass: its name */
    uint32_t device;
};

struct counters_pass {
    const struct counters_options *options;
    const struct capture_range *range; /* NULL: everything */
    struct counters_result *result;
    struct sample_set *sets;
    size_t set_count, set_capacity;
    struct mp_map places; /* counter's id: set << 8 | place in it */
    size_t counter_capacity;
    struct work_span *spans;
    size_t span_count, span_capacity;
    const char **names; /* of groups, by number; owned, the texts are not */
    size_t name_count, name_capacity;
    uint32_t cause_count;  /* groups that are causes of idle time; they come first */
    struct mp_map by_name; /* address of a name, or a layer's node: group */
};

/* Gives back what the pass owns, but not its result. */
void counters_pass_free(struct counters_pass *pass);

/* Reads counters, samples and, if kernels or idle time are wanted, the device's work. */
enum mp_status counters_read(struct counters_pass *pass, struct mp_trace *trace,
                             struct mp_error *error);

/* Reads the work of layers instead. */
enum mp_status counters_read_layers(struct counters_pass *pass, struct mp_trace *trace,
                                    struct mp_error *error);

/* The number of the group with this key; `name` is its name if it is new. */
enum mp_status counters_group(struct counters_pass *pass, uint64_t key, const char *name,
                              uint32_t *group);

enum mp_status counters_add_work(struct counters_pass *pass, uint32_t device, uint64_t start,
                                 uint64_t duration, uint32_t group);

/* Idle time by cause as work: spans, and groups whose numbers are below pass->cause_count. Call it
 * before any other group is made, with samples read. MP_ERR_MEMORY. */
enum mp_status counters_add_causes(struct counters_pass *pass);
enum mp_status counters_add_idle(struct counters_pass *pass);

/* Makes iterations the groups of all devices. MP_OK or MP_ERR_MEMORY. */
enum mp_status counters_of_iterations(struct counters_pass *pass);

bool counters_is_first_of_device(const struct counters_pass *pass, size_t set);

/* The first sample that ends after `time`. */
size_t counters_first_after(const struct sample_set *set, uint64_t time);

/* Makes the groups of all devices and their cells. MP_OK or MP_ERR_MEMORY. */
enum mp_status counters_attribute(struct counters_pass *pass);

/* The mean of a counter while the group ran, and the half width of its 95 % confidence; not a
 * number: unknown. */
double counters_mean_of(const struct counters_result *result, const struct counters_group *group,
                        enum counters_telling which);
double counters_error_of(const struct counters_result *result, const struct counters_group *group,
                         enum counters_telling which);

/* `values` are such means; `name` is that of a kernel or NULL. */
enum counters_class counters_class_of(const struct counters_result *result, const double *values,
                                      const char *name);

/* Fills in what the group is bound by. */
void counters_classify(const struct counters_result *result, struct counters_group *group);

/* The value of a sample; not a number when it has none. */
double counters_value(const struct counters_pass *pass, const struct sample_set *set, size_t sample,
                      size_t place);

/* Percentiles of `count` values, which are sorted. */
void counters_percentiles(double *values, size_t count, struct counters_cell *cell);

/* ---- The work of one device, while its counters are attributed to it ---- */

/* How much time one span would have had up to each moment, had it run since the first one. */
struct concurrency {
    uint64_t *times; /* begins and ends of all spans, in order */
    double *parts;   /* ns */
    size_t count;
};

/* Of spans that stand by their begins. MP_OK or MP_ERR_MEMORY; concurrency_free may follow in any
 * case.
 */
enum mp_status concurrency_build(struct concurrency *concurrency, const struct work_span *spans,
                                 size_t count);

/* The ns that a span has of the time between two moments at which it runs: half where another one
 * runs beside it. The parts of all spans add up to the time in which anything runs. */
double concurrency_part(const struct concurrency *concurrency, uint64_t from, uint64_t to);

void concurrency_free(struct concurrency *concurrency);

struct device_work {
    struct counters_pass *pass;
    uint32_t device;
    struct work_span *spans; /* by begin */
    size_t span_count;
    struct concurrency concurrency; /* of the spans */
    uint32_t *local;                /* by group of the pass: group of the device */
    size_t groups;                  /* of the device */
    size_t first;                   /* in the result */
    size_t width;                   /* counters of the device */
};

/* Adds the device's groups to the result, with cells of which nothing is known, and fills in
 * `local`, which is the caller's to free. MP_OK or MP_ERR_MEMORY. */
enum mp_status device_work_group(struct device_work *work);

#endif
