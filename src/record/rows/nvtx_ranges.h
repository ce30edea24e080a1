/* NVTX ranges as rows need them: those that reach beyond a capture range, and those in which the
 * nodes of CUDA graphs were made. Owned by the writer thread.
 */
#ifndef MP_RECORD_ROWS_NVTX_RANGES_H
#define MP_RECORD_ROWS_NVTX_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"
#include "record/graphs/edges.h"
#include "record/graphs/open_ranges.h"
#include "record/names/capture.h"
#include "record/nvtx/nvtx.h"

/* ---- Ranges that reach beyond a capture range ----
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
 * Memory: open_ranges.h, which bounds it.
 */

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

/* ---- Paths: the ranges in which nodes were made ----
 *
 * They tell which layer of the model a
 * kernel of a graph launch belongs to: the layer around the captured launch, long before.
 *
 * The writer follows, thread by thread, which ranges are open (open_ranges.h). Each node stands
 * among the events of the thread that made it, as a number (origins.h). So when the writer meets
 * the number, the open ranges are those around the node, in whatever order threads are read. One
 * case needs more: a range that another thread ends may still look open here. Its end is kept, and
 * the node's time decides.
 *
 *     open ranges of a thread       iteration > layer3         raw: names are copied
 *     entry     parent, range       made when a node is made inside
 *     path      parent, range       without those that had ended; what the file has
 *
 * A path is written when a node of it has run, and again after each cut of the file. After a gap in
 * the recording a thread's open ranges are unknown.
 *
 * Memory is bounded: ranges open in a thread, entries, texts, and the numbers that are kept. Nodes
 * whose ranges find no room are counted when they run.
 */

#define PATHS_MAX         65536u              /* entries, and paths */
#define PATHS_MAX_TEXT    ((size_t)16 << 20)  /* bytes of names */
#define PATHS_MAX_ORIGINS ((uint32_t)1 << 20) /* numbers that are kept: the last ones met */
#define PATHS_LOST        UINT32_MAX          /* of a node: its ranges found no room */

struct collectives;
struct stack_rows;
struct path_entry;
struct path_origin;

struct paths {
    bool wanted;
    const struct collectives *collectives; /* whose launches made nodes; NULL: nobody's */
    struct stack_rows *stack_rows;         /* who made them; NULL: not known */
    struct mp_map ending; /* id of a start/end range with entries -> the last entry */
    struct mp_intern texts;
    struct mp_intern entry_keys;
    struct path_entry *entries; /* by id - 1 */
    uint32_t entry_capacity;
    struct mp_intern path_keys;
    uint32_t *file_ids; /* by path id - 1: in the present file, 0 if not there */
    uint32_t file_capacity;
    uint32_t file_count;
    struct path_origin *origins; /* ring, by number */
    uint32_t origin_capacity;
    size_t text_bytes;
    uint64_t lost; /* nodes that ran and whose ranges found no room */
};

void paths_open(struct paths *paths, bool wanted);
void paths_close(struct paths *paths);

/* An event of NVTX, kept or not, which its `thread` has taken (open_ranges_take). */
void paths_take(struct paths *paths, struct open_thread *thread, const struct mp_nvtx_event *event);

/* Called when all events of nodes in the graphs of edges_ripen have been taken. Looks up the ranges
 * of these nodes, and appends those of graphs that have run. */
void paths_settle(struct paths *paths, struct edge_store *store, struct dictionary *dictionary);

/* The file was cut. */
void paths_restart(struct paths *paths);

#endif
