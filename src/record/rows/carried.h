/* NVTX ranges that reach beyond a capture range.
 *
 * A capture range stands for itself: whoever reads it knows the NVTX ranges that are open in it.
 *
 *     NVTX range   |push ----------------------------------- pop|
 *     capture             [  1  ]          [   2   ]
 *     rows                push  pop        push    pop            all four are `cut`
 *
 * So where a capture range begins, the open ranges of all threads are written anew, outermost
 * first, with their attributes. Where it ends, they are popped or ended, innermost first. Such rows
 * have the time of the capture range's begin or end and are marked as cut. A capture range that
 * ends with the process leaves the ranges open.
 *
 * The writer meets the events of one thread after those of another, and marks before either. So
 * each thread takes in the begins and ends of capture ranges, the edges, by itself: before its
 * first event after an edge, or after the first drain that has begun after it. An event that
 * comes later than that, with a time before the edge, is of a thread that was in the middle of its
 * call. It gets the time of the edge.
 *
 * Owned by the writer thread. Memory: open_ranges.h, which bounds it.
 */
#ifndef MP_RECORD_ROWS_CARRIED_H
#define MP_RECORD_ROWS_CARRIED_H

#include <stdbool.h>
#include <stdint.h>

#include "record/graphs/open_ranges.h"
#include "record/names/capture.h"

struct dictionary;

struct carried {
    const struct capture *capture;
    struct dictionary *dictionary;
    struct open_ranges open;
    uint64_t asked;   /* edges that were known when the present drain began */
    uint64_t settled; /* edges that all threads have taken in */
    uint64_t lost;    /* pushes that found no room and were open where a capture range began */
};

void carried_open(struct carried *carried, const struct capture *capture,
                  struct dictionary *dictionary);
void carried_close(struct carried *carried);

/* An event, kept or not, before its row: the thread takes in the edges before it, and the event.
 * Answers its thread, NULL without room. */
struct open_thread *carried_take(struct carried *carried, const struct mp_nvtx_event *event);

/* Whether and when the event of `thread` gets a row. *cut: the row is marked. */
bool carried_keeps(const struct carried *carried, const struct open_thread *thread,
                   const struct mp_nvtx_event *event, uint64_t *time, bool *cut);

/* A drain begins. */
void carried_begin_drain(struct carried *carried);

/* The drain has ended: all threads take in the edges that were known when it began. */
void carried_end_drain(struct carried *carried);

/* The first capture range begins anew: the file was cut. */
void carried_restart(struct carried *carried);

#endif
