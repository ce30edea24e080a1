/* What the files of this family share: the state of one export, and who writes which rows. */
#ifndef MP_EXPORT_KINETO_STATE_H
#define MP_EXPORT_KINETO_STATE_H

#include "base/data/map.h"
#include "base/text/json_write.h"
#include "export/common/format.h"
#include "export/kineto/events.h"
#include "export/kineto/facts.h"
#include "export/kineto/launched.h"

/* The work of one iteration on one stream. */
struct kineto_step {
    uint64_t begin; /* ns */
    uint64_t end;
    uint64_t device, stream;
    uint32_t iteration; /* from 1 */
};

/* The last record of a CUDA event. */
struct kineto_event {
    uint64_t correlation;
    uint64_t stream;
    uint64_t context;
};

struct kineto {
    FILE *out;    /* not owned; or, compressing, */
    FILE *zipped; /* a stream into it */
    bool plain;   /* an array of events alone */
    struct json_writer json;
    struct events events;
    const struct export_process *process;
    const struct export_analyses *analyses;
    uint64_t pid;
    struct kineto_facts facts;
    struct kineto_launched launched;
    struct ranks_operations *operations; /* NULL: none */
    struct mp_map steps;                 /* iteration and place -> step_items */
    struct kineto_step *step_items;
    size_t step_count, step_capacity;
    bool own_steps;        /* the program has ranges ProfilerStep#N itself */
    struct mp_map records; /* handle of an event -> record_items */
    struct kineto_event *record_items;
    size_t record_count, record_capacity;
    struct mp_map introduced; /* threads, streams and devices that have a name in the file */
};

/* ---- head.c: what stands around the events ---- */

void kineto_write_head(struct kineto *kineto);
void kineto_write_tail(struct kineto *kineto);

/* The rank in the job of a process of the set; its number, if it does not say. */
uint64_t kineto_rank(const struct trace_set *set, size_t number);

/* ---- samples.c: counters over time ---- */

enum mp_status kineto_write_samples(struct kineto *kineto, struct mp_error *error);

/* ---- introduce.c: names of processes, threads, streams ---- */

enum mp_status kineto_introduce_process(struct kineto *kineto);
enum mp_status kineto_introduce_thread(struct kineto *kineto, const struct export_thread *thread);
enum mp_status kineto_introduce_stream(struct kineto *kineto, uint64_t device, int64_t row);

/* The row of a device below its streams on which calls wait for a stream; -1: for no stream. */
int64_t kineto_sync_row(int64_t stream);

/* ---- work.c, host.c, sync.c, metrics.c: rows ---- */

enum mp_status kineto_write_work(struct kineto *kineto, const struct export_row *row);
enum mp_status kineto_write_host(struct kineto *kineto, const struct export_row *row);
enum mp_status kineto_write_sync(struct kineto *kineto, const struct export_row *row);
enum mp_status kineto_write_metric(struct kineto *kineto, const struct export_row *row);

/* ---- steps.c: iterations ---- */

/* Takes note of work that belongs to an iteration. */
enum mp_status kineto_note_step(struct kineto *kineto, const struct export_row *row);
void kineto_write_steps(struct kineto *kineto);

/* ---- collectives.c ---- */

/* The arguments of NCCL's kernels, as far as calls or their name tell them. */
void kineto_write_collective(struct kineto *kineto, const struct export_row *row);

/* An event for a call of NCCL. */
enum mp_status kineto_write_call_of_nccl(struct kineto *kineto, const struct export_row *row);

#endif
