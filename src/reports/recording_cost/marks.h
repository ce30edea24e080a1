/* The marks that a process left while it ran (base/steps.h), and the steps in between.
 *
 *     marks.c     the files of one run, thread by thread
 *     aligned.c   which marks an iteration of the trace has, and where else they lie like that
 */
#ifndef MP_REPORTS_RECORDING_COST_MARKS_H
#define MP_REPORTS_RECORDING_COST_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/steps.h"
#include "reports/iterations/iterations.h"

/* ---- The marks of a process ---- */

struct mark {
    uint64_t time; /* ns of CLOCK_MONOTONIC, which is the recorder's clock too */
    uint32_t name; /* as in struct steps_mark */
    uint32_t domain : 24;
    uint32_t kind : 8;
    uint32_t range; /* which one of cuProfilerStart and Stop, from 1; 0: outside of all. A process
                       that calls neither is in range 1 */
};

struct marks_thread {
    uint32_t tid;
    struct mark *items; /* in order of time; in marks.items */
    size_t count;
};

struct marks {
    uint32_t process;
    struct marks_thread *threads; /* owned */
    size_t thread_count;
    struct mark *items; /* thread by thread; owned */
    size_t count;
    uint64_t attached; /* when CUPTI came; UINT64_MAX: it did not */
    bool full;         /* later marks found no room */
};

/* Reads a file. MP_ERR_DAMAGED: it is none, or its clock is not known. MP_ERR_IO, MP_ERR_MEMORY.
 * marks_free in any case. */
enum mp_status marks_load(const char *path, struct marks *marks, struct mp_error *error);
void marks_free(struct marks *marks);

/* Whether the program left a mark: any but the one that CUPTI has come. A file that cannot be read
 * has none. */
bool marks_are_left(const char *path);

/* ---- Steps ---- */

/* What an iteration looks like in marks. */
struct marks_pattern {
    uint32_t name, domain; /* of an NVTX range; 0: by kinds */
    bool by_name;
    uint8_t *kinds; /* of its marks, from the one where it begins to the one where it ends; owned */
    size_t count;
    uint8_t before;   /* kind of the mark before; STEPS_NOTHING: various */
    uint32_t range;   /* only steps of this range; 0: of all */
    const char *unit; /* what its steps are called; of the iterations, or static */
};

/* Durations, ns, in order. */
struct marks_steps {
    uint64_t *items; /* owned */
    size_t count, capacity;
};

/* The pattern that most iterations have, by the marks of the process that was recorded. *found:
 * whether there is one that half of them have. MP_ERR_MEMORY; marks_pattern_free in any case. */
enum mp_status marks_find_pattern(const struct deps *deps, const struct iterations_study *study,
                                  const struct marks *marks, struct marks_pattern *pattern,
                                  bool *found);
void marks_pattern_free(struct marks_pattern *pattern);

/* Adds the steps that look like this, of all threads. `before_recording`: those from before CUPTI
 * came, outside of ranges too; else those in ranges. MP_ERR_MEMORY; the caller frees steps->items.
 */
enum mp_status marks_find_steps(const struct marks *marks, const struct marks_pattern *pattern,
                                bool before_recording, struct marks_steps *steps);

#endif
