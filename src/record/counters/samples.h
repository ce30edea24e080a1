/* Counters over time: what MINIPROF_SAMPLE asks for, and the samples on their way from the sampling
 * thread to the writer.
 *
 * A set is what one source measures on one device: all of its counters at the same moments. It is
 * never changed once it is made, and lives as long as the process. A batch is some samples of a
 * set. Memory is bounded: when the writer does not keep up, samples are lost and counted.
 */
#ifndef MP_RECORD_COUNTERS_SAMPLES_H
#define MP_RECORD_COUNTERS_SAMPLES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/metrics/sampled.h"
#include "base/status.h"

#define SAMPLES_MAX_COUNTERS 64u
#define SAMPLES_MAX_BYTES    (8u << 20) /* in batches that the writer has not taken */

struct sample_counter {
    char name[METRIC_NAME_BYTES];
    const char *expression;  /* of the source; static, or `name`; NULL: none */
    const char *description; /* static */
    const char *note;        /* why it has no better source: static or the set's; NULL */
    unsigned number;         /* of the source: GPM's id, enum sampled_nvml */
    double factor;
    double step;
    enum metric_unit unit;
};

struct sample_set {
    struct sample_set *next;
    unsigned device; /* ordinal */
    enum sampled_by by;
    uint64_t interval; /* ns, as asked for */
    char note[MP_ERROR_TEXT_BYTES];
    size_t count;
    struct sample_counter counters[SAMPLES_MAX_COUNTERS];
    uint32_t first_id; /* the writer's: of its first counter in this file, 0: not in it */
};

struct sample_moment {
    uint64_t end; /* ns of the trace's clock */
    uint64_t length;
};

struct sample_batch {
    struct sample_batch *next;
    struct sample_set *set;
    size_t count, capacity, bytes;
    struct sample_moment *moments;
    uint16_t *values; /* packed, set->count of them for each moment */
};

struct sample_store {
    pthread_mutex_t lock;
    struct sample_batch *first, *last; /* under the lock, as are the next two */
    size_t waiting;                    /* bytes */
    struct sample_set *sets;           /* all, the latest first */
    uint32_t ids;                      /* the writer's: given in this file */
    _Atomic uint64_t lost;             /* samples that found no room */
    _Atomic uint64_t overflows;        /* times that the GPU's buffer was full */
};

void samples_open(struct sample_store *store);

/* A set that the writer will define; NULL when memory is out. The sampling thread fills it in
 * before it calls samples_publish. */
struct sample_set *samples_new_set(unsigned device, enum sampled_by by, uint64_t interval);
void samples_publish(struct sample_store *store, struct sample_set *set);

/* Adds a counter of the table, or one of CUPTI's (entry NULL). False: the set is full. */
bool samples_add(struct sample_set *set, const char *name, const struct sampled_entry *entry,
                 const struct sampled_source *source, const char *note);

/* ---- The sampling thread ---- */

struct sample_batch *samples_new_batch(struct sample_set *set, size_t capacity);

/* Appends a sample to a batch that has room. */
void samples_append(struct sample_batch *batch, struct sample_moment moment, const double *values);

/* Hands the batch to the writer, which owns it from here on; an empty one is freed. */
void samples_put(struct sample_store *store, struct sample_batch *batch);

/* ---- The writer ---- */

/* The oldest batch, to be freed; NULL when there is none. */
struct sample_batch *samples_take(struct sample_store *store);

/* The sets that were published, the latest first. */
struct sample_set *samples_sets(struct sample_store *store);

/* The file was cut: it has no definitions. */
void samples_restart(struct sample_store *store);

/* ---- Requested counters: a list without repetitions ---- */

struct requested_counter {
    char name[METRIC_NAME_BYTES];
    const struct sampled_entry *entry; /* NULL: one of CUPTI's own names */
};

struct requested_counters {
    size_t count;
    struct requested_counter items[SAMPLES_MAX_COUNTERS];
};

/* Why the best source of a request does not measure it. */
enum unavailable {
    UNAVAILABLE_NOT,     /* or CUPTI cannot sample at all */
    UNAVAILABLE_COUNTER, /* the GPU has none of that name */
    UNAVAILABLE_PASS,    /* CUPTI does not count it in one pass, even alone */
    UNAVAILABLE_ROOM,    /* it would fit alone */
    UNAVAILABLE_NVML     /* NVML alone could read it, and does not */
};

/* For one device: who measures each request so far, and why nobody better does. */
struct sample_plan {
    const struct requested_counters *requested;
    enum sampled_by by[SAMPLES_MAX_COUNTERS];
    enum unavailable unavailable[SAMPLES_MAX_COUNTERS];
    char near[SAMPLES_MAX_COUNTERS][METRIC_NAME_BYTES]; /* one that there is; empty: none */
};

/* Reads the list. Unknown names are said, with the nearest known one, and left out. The name `all`
 * requests every known counter. */
void requested_read(struct requested_counters *requested, const char *names);

/* ---- Unavailable counters ---- */

/* Static; NULL when CUPTI lacks nothing, or the reason is NVML's. */
const char *unavailable_note(enum unavailable why);

/* One line for each reason, with the requests that it holds for and what to do. `nvml_reason` is
 * why NVML does not read what UNAVAILABLE_NVML stands for. */
void unavailable_say(unsigned device, const struct sample_plan *plan, const char *nvml_reason);

#endif
