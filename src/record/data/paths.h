/* The NVTX ranges in which the nodes of CUDA graphs were made: a kernel of a graph launch belongs
 * to the layer around the launch that was captured, long before.
 *
 * The writer follows, thread by thread, which ranges are open (open_ranges.h). Each node that was
 * made stands among the events of its thread as a number (origins.h), so the ranges around it are
 * those that are open when the writer comes to it, in whatever order threads are read. Only a range
 * that another thread ends can be open too long here; its end is kept, and the node's time decides.
 *
 *     open ranges of a thread       iteration > layer3         raw: names are copied
 *     entry     parent, range       made when a node is made inside
 *     path      parent, range       without those that had ended; what the file has
 *
 * A path is written when a node of it has run, and after each cut of the file again. When events
 * begin anew, since nothing was recorded for a while, a thread's open ranges are not known any
 * more.
 *
 * Memory is bounded: so many ranges open in a thread, entries, texts, numbers that are looked back
 * on. Nodes whose ranges find no room are counted when they run.
 *
 * Owned by the writer thread.
 */
#ifndef MP_RECORD_DATA_PATHS_H
#define MP_RECORD_DATA_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"
#include "record/graphs/edges.h"
#include "record/graphs/open_ranges.h"
#include "record/nvtx/nvtx.h"

#define PATHS_MOST         65536u              /* entries, and paths */
#define PATHS_MOST_TEXT    ((size_t)16 << 20)  /* bytes of names */
#define PATHS_MOST_ORIGINS ((uint32_t)1 << 20) /* the last numbers that were met */
#define PATHS_LOST         UINT32_MAX          /* of a node: its ranges found no room */

struct dictionary;
struct path_entry;
struct path_origin;

struct paths {
    bool wanted;
    struct open_ranges open;
    struct mp_map ending; /* id of one that has entries -> the last of these */
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

/* An event of NVTX, kept or not. */
void paths_take(struct paths *paths, const struct mp_nvtx_event *event);

/* All events of nodes in the graphs of edges_ripen have been taken: looks up their ranges, and
 * appends those of graphs that have run. */
void paths_settle(struct paths *paths, struct edge_store *store, struct dictionary *dictionary);

/* The file was cut. */
void paths_restart(struct paths *paths);

#endif
