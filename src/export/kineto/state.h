/* What the files of this family share: the state of one export, and who writes which rows. */
#ifndef MP_EXPORT_KINETO_STATE_H
#define MP_EXPORT_KINETO_STATE_H

#include <miniprof/trace.h>
#include <stdint.h>
#include <stdio.h>

#include "base/data/map.h"
#include "base/data/storage.h"
#include "base/status.h"
#include "base/text/json.h"
#include "export/format.h"
#include "export/rows/rows.h"
#include "profile/dense.h"
#include "reports/deps/deps.h"
#include "trace/schema.h"

/* ---- events.c ---- */

/* Writes events of Chrome's trace format, one a line, without a JSON library's overhead.
 *
 *     event_begin(events, 'X', "kernel");
 *     event_name(events, &row->name);
 *     event_place(events, device, stream);
 *     event_time(events, start);
 *     event_duration(events, duration);
 *     event_args(events);
 *     event_number(events, "correlation", correlation);
 *     event_end(events);
 *
 * Names are escaped once and kept by the number of the text. Text is collected and handed to the
 * stream in pieces; failures of memory stick (events->text.status), those of writing are the
 * stream's.
 */

struct events_text;

/* A zeroed struct is empty. */
struct events {
    FILE *out;      /* not owned */
    uint64_t shift; /* is added to times, modulo 2^64 */
    uint64_t count; /* events */
    bool in_args;   /* the arguments are open, and */
    bool no_comma;  /* the next one is the first */
    struct mp_buffer text;
    struct mp_arena escaped;
    struct events_text *texts; /* by number of the text */
    size_t text_count, text_capacity;
};

void events_free(struct events *events);

/* Writes all text to the stream. */
void events_flush(struct events *events);

/* `phase` is Chrome's: X complete, M metadata, i instant, s and f flow, C counter. Keys, categories
 * and literals are written as they are. */
void event_begin(struct events *events, char phase, const char *category);
void event_name(struct events *events, const struct export_text *name); /* without one: "" */
void event_literal_name(struct events *events, const char *name);
void event_place(struct events *events, uint64_t process, int64_t thread);
void event_time(struct events *events, uint64_t time);         /* ns of the recorder's clock */
void event_duration(struct events *events, uint64_t duration); /* ns, two's complement */
void event_id(struct events *events, uint64_t id);
void event_literal(struct events *events, const char *text); /* such as ,"bp":"e" */
void event_end(struct events *events);

/* Opens the arguments, which event_end closes. */
void event_args(struct events *events);
void event_number(struct events *events, const char *key, uint64_t number);
void event_signed(struct events *events, const char *key, int64_t number);
void event_real(struct events *events, const char *key,
                double number); /* 6 digits; null unless finite */
void event_word(struct events *events, const char *key, const char *literal);
void event_text(struct events *events, const char *key, const char *text, size_t bytes);
void event_three(struct events *events, const char *key, const uint32_t numbers[3]);

/* ---- launched.c ---- */

/* What each call launched, from the event graph, so that flows begin at calls that launched
 * something and an NVTX range can be shown on the streams on which its work ran.
 *
 *     calls   | 0 | 1 | 2 |          first  0 0 2 5
 *     work    | a b | c d e |        call 1 launched a and b, call 2 launched c, d and e
 *
 * The calls of a thread stand together in the graph, in order of time; so does, here, all that a
 * thread launched in a stretch of time.
 */

/* A zeroed struct knows of nothing. */
struct kineto_launched {
    const struct deps *deps;            /* not owned; NULL: nothing is known */
    uint32_t *first;                    /* by call's piece, and one more; owned */
    uint32_t *work;                     /* activities; owned */
    struct mp_map threads;              /* the trace's number -> lane */
    struct kineto_projected *projected; /* by lane; owned */
};

/* What lies on one stream. */
struct kineto_projected {
    uint64_t begin; /* ns; of the first work */
    uint64_t end;   /* of the last; 0: nothing */
};

/* MP_ERR_MEMORY; kineto_launched_free must be called in any case. `deps` must live as long. */
enum mp_status kineto_launched_build(struct kineto_launched *launched, const struct deps *deps);
void kineto_launched_free(struct kineto_launched *launched);

/* Whether the call, an activity of the graph, launched anything. */
bool kineto_launched_any(const struct kineto_launched *launched, uint32_t call);

/* Fills in `projected` with the work that a thread launched by calls that began in a stretch of
 * time. Returns false if there is none. */
bool kineto_launched_project(struct kineto_launched *launched, uint64_t thread, uint64_t begin,
                             uint64_t end);

/* ---- The state ---- */

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

/* Returns the rank of a process of the set in the job; its number if its trace has none. */
uint64_t kineto_rank(const struct trace_set *set, size_t number);

/* ---- names.c: names of processes, threads and streams ---- */

enum mp_status kineto_introduce_process(struct kineto *kineto);
enum mp_status kineto_introduce_thread(struct kineto *kineto, const struct export_thread *thread);
enum mp_status kineto_introduce_stream(struct kineto *kineto, uint64_t device, int64_t row);

/* Returns the row of a device, below its streams, for calls that wait for a stream; -1: for none.
 */
int64_t kineto_sync_row(int64_t stream);

/* ---- work.c, host.c: rows ---- */

typedef enum mp_status kineto_row(struct kineto *kineto, const struct export_row *row);

kineto_row kineto_write_work, kineto_write_host, kineto_write_sync, kineto_write_metric;
enum mp_status kineto_write_samples(struct kineto *kineto, struct mp_error *error);

/* ---- launched.c: iterations ---- */

/* Notes work that belongs to an iteration. */
enum mp_status kineto_note_step(struct kineto *kineto, const struct export_row *row);
void kineto_write_steps(struct kineto *kineto);

/* ---- collectives.c ---- */

/* Writes the arguments of NCCL's kernels that its calls or the kernel's name give. */
void kineto_write_collective(struct kineto *kineto, const struct export_row *row);

/* Writes an event for a call of NCCL. */
kineto_row kineto_write_call_of_nccl;

#endif
