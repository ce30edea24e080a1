/* The flight recorder: with MINIPROF_FLIGHT the trace stays in memory, as chunks of the last
 * N seconds (trace/chunks.h). A trigger has it written to a file.
 *
 *     trigger                     where it comes from             when it is written
 *     `miniprof ctl PID dump`     the writer, ctl.c               at once
 *     SIGUSR2                     a signal handler                at the next round
 *     an NVTX range took long     a thread of the application     a second later, so that the work
 *                                                                 that it left on the device is in
 *     SIGSEGV and the like        a signal handler, signals.h     at once; the thread waits
 *
 * A file is a complete trace: all definitions, the events in memory, and notes
 * made for this file. The notes are the capture ranges within the file's time, and the counters
 * since the file's begin. The header (flight_...) says what triggered the file, and between which
 * times the file has everything. Writing a file does not empty the memory.
 *
 * Definitions are never dropped, so a program that keeps making up names would fill the memory with
 * them. When they take half of it, everything is forgotten and recording begins anew.
 *
 * A separate thread calls CUPTI (cupti/flush.h), so the writer can continue when CUPTI hangs.
 *
 * The writer's, except what stands under "Threads of the application".
 */
#ifndef MP_RECORD_PROCESS_FLIGHT_H
#define MP_RECORD_PROCESS_FLIGHT_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/algorithms.h"
#include "base/settings/forms.h"
#include "base/status.h"
#include "record/rows/quality.h"
#include "trace/chunks.h"
#include "trace/writer.h"

struct recorder;
struct recording;

#define FLIGHT_STEPS 100u /* needed before a percentile means anything */

/* A step that was too long. */
struct flight_step {
    uint64_t begin, end; /* ns of the trace's clock */
    uint64_t limit;      /* the limit that it exceeded */
};

/* Why a file is written. */
struct flight_trigger {
    const char *reason;
    uint64_t time;                  /* ns of the trace's clock */
    const struct flight_step *step; /* NULL: the trigger was no step */
};

enum flight_slot { FLIGHT_SLOT_FREE, FLIGHT_SLOT_TAKEN, FLIGHT_SLOT_READY };

struct flight {
    /* Written before recording begins, read-only afterwards. */
    bool on;
    bool by_step;    /* MINIPROF_SLOW_STEP is in effect */
    bool virtual;    /* the software GPU's clock: the writer cannot read the time */
    uint64_t window; /* ns */
    uint32_t max_files;
    int pace; /* ms from one look at the rows to the next */
    struct mp_slow_step slow;
    char *header; /* the part of the header that all files share */

    /* Threads of the application. */
    struct mp_histogram steps;
    _Atomic uint64_t slow_steps; /* ever */
    _Atomic int slot;            /* enum flight_slot: who may touch `step` */
    struct flight_step step;

    struct mp_chunk_ring ring;
    struct mp_chunk_sink sink;
    uint64_t begin_time; /* of the recording, ns */
    int64_t step_seen;   /* when the writer saw the slow step, ms; 0: there is none */
    struct flight_notes notes;
    uint32_t files;
    uint64_t refused;                  /* triggers that came when all files were written */
    uint64_t anew;                     /* times that recording began anew */
    char trouble[MP_ERROR_TEXT_BYTES]; /* why the last file was not written; "": it was */
};

/* Reads the settings, warns of those that do not go together, and changes those that the flight
 * recorder excludes. Before any other module reads them. */
void flight_configure(struct recorder *recorder);

/* Instead of output_open: checks that files can be written, and opens a writer without a file. */
enum mp_status flight_open(struct recorder *recorder, struct mp_writer **writer,
                           struct mp_error *error);

/* A step has ended. Wakes the writer if the step was slow. No lock, no allocation. Any thread.
 * `recorder`: struct recorder, as nvtx_watch_calls has it. */
void flight_step(void *recorder, uint64_t begin, uint64_t end);

/* ---- The writer ---- */

/* Drops chunks that are too old, and writes the file of a slow step after a second. */
void flight_round(struct recorder *recorder);

/* At the end of the process: writes the file of a slow step, if one still waits. */
void flight_finish(struct recorder *recorder);

/* Writes a file of all records taken up to now. `text` gets the file's name and size, or the error,
 * which is also said on stderr. */
bool flight_write(struct recorder *recorder, const struct flight_trigger *trigger, char *text,
                  size_t size);

/* The same where nobody waits for an answer. */
void flight_write_for(struct recorder *recorder, const char *reason);

/* "keeps 30s, 12.3 s and 4.5 MiB held, 2 files written" */
void flight_describe(struct recorder *recorder, char *text, size_t size);

void flight_close(struct flight *flight);

/* ---- Its files: where they go and what they are called ----
 *
 * A file is written as NAME.part and renamed when it is complete, so a program that watches the
 * folder finds complete traces only. The first file has the name that MINIPROF_OUTPUT says. The
 * next ones are numbered from 2 on, like those of programs started by exec (recorder.h).
 *
 * A descriptor may not survive for days: a program may close all descriptors, or use all of them.
 * So the folder is held open and checked before each use. If no descriptor is free for the file,
 * the folder's is closed.
 *
 * Owned by the writer thread.
 */

struct trace_file;

/* Checks whether a file can be made in the folder of output->path and place, which are set. */
enum mp_status flight_file_prepare(struct trace_file *output, struct mp_error *error);

/* Creates the file and opens it as output->fd. */
enum mp_status flight_file_begin(struct trace_file *output, struct mp_error *error);

/* Closes the file and gives it its final name. `path` gets that name, as the user would write it.
 */
enum mp_status flight_file_publish(struct trace_file *output, char *path, size_t size,
                                   struct mp_error *error);

/* Closes and removes the file. */
void flight_file_discard(struct trace_file *output);

/* Closes the folder. */
void flight_file_close(struct trace_file *output);

/* ---- What a file holds ----
 *
 * The chunks in memory, a header that says why the file was written and between which times it has
 * everything, and notes made for it. The writer only.
 */

struct flight_path {
    char text[PATH_MAX];
};

/* The time from which on everything is in memory. */
uint64_t flight_time_from(const struct flight *flight);

/* Writes the memory's contents to a file and gives it its name, `path`. On failure there is no
 * file. */
enum mp_status flight_trace_write(struct recorder *recorder, const struct flight_trigger *trigger,
                                  struct flight_path *path, struct mp_error *error);

#endif
