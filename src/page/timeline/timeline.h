/* The events of a trace in rows that can be drawn.
 *
 *     lane   a host thread or a stream
 *     track  a row of a lane; its events follow each other and never overlap:
 *              calls    API calls; a call inside a call is one row further down
 *              ranges   NVTX ranges of one domain, nested ones further down
 *              work     kernels, copies, sets, whole graphs
 *     event  one of them; events stand track by track, in order of time
 *
 * If more than TIMELINE_MAX_ROWS events of a lane overlap, the rest is left out and counted. If
 * there are more than timeline_options.most events, the latest are left out and counted.
 *
 * A timeline is made from the event graph (deps.h). An event points to an activity of the graph;
 * launches, causes and waiting times are read from the graph. Memory: 24 bytes an event and 4 an
 * activity, beside the graph's.
 */
#ifndef MP_PAGE_TIMELINE_TIMELINE_H
#define MP_PAGE_TIMELINE_TIMELINE_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/common/called_from.h"
#include "reports/deps/deps.h"
#include "reports/nvtx/nvtx.h"

#define TIMELINE_NONE     UINT32_MAX
#define TIMELINE_MAX_ROWS 64u /* of a kind in a lane */
#define TIMELINE_FAN      8u  /* events of a group, and groups of a group */

/* Kinds of names: those of enum deps_kind, and NVTX ranges. */
#define TIMELINE_RANGE      DEPS_KINDS
#define TIMELINE_CATEGORIES (DEPS_KINDS + 1)

enum timeline_track_kind { TIMELINE_CALLS, TIMELINE_RANGES, TIMELINE_WORK };

struct timeline_name {
    uint32_t text; /* in texts */
    uint8_t category;
};

/* What many events share: a name, and for work its shape or size in words. */
struct timeline_kind {
    uint32_t name;   /* of names */
    uint32_t detail; /* in texts; 0: none */
};

struct timeline_event {
    uint64_t begin; /* ns of the recorder's clock */
    uint64_t duration;
    uint32_t kind;     /* of kinds */
    uint32_t activity; /* of the graph, for a call the first piece; TIMELINE_NONE: an NVTX range */
};

struct timeline_track {
    uint32_t lane;
    uint32_t first; /* event */
    uint32_t count;
    uint32_t depth;  /* row among those of the same kind and domain in the lane */
    uint32_t domain; /* of ranges: id in texts, 0 is the default one */
    uint8_t kind;    /* enum timeline_track_kind */
};

struct timeline_lane {
    uint64_t id; /* thread: its number in the trace; stream: CUPTI's id */
    uint64_t tid;
    uint64_t context;
    uint64_t device;
    const char *name; /* of the thread or device; NULL: unknown; owned by the graph's definitions */
    bool is_thread;
};

struct timeline {
    struct timeline_lane *lanes; /* threads first */
    size_t lane_count, lane_capacity;
    struct timeline_track *tracks;
    size_t track_count, track_capacity;
    struct timeline_event *events;
    size_t event_count, event_capacity;
    struct timeline_name *names;
    size_t name_count, name_capacity;
    struct timeline_kind *kinds;
    size_t kind_count, kind_capacity;
    struct mp_intern texts;
    struct mp_map name_index;   /* category and text -> name */
    struct mp_map kind_index;   /* name and detail -> kind */
    uint32_t *event_of;         /* by activity: its event or TIMELINE_NONE */
    struct called_from callers; /* lines of the program, if the trace has stacks */
    uint32_t *caller; /* by event: of `callers`; 0: none, of work: that of its launch; NULL: no
                         stacks */
    uint64_t origin;  /* ns: the first begin; 0 without events */
    uint64_t end;     /* ns: the last end */
    uint64_t until;   /* ns: events that begin here or later are left out */
    uint64_t left_out_late; /* an upper bound, because each piece of a call counts */
    uint64_t left_out_deep;
};

struct timeline_options {
    const struct capture_range *range; /* only what belongs to it; NULL: everything */
    enum names_style style;            /* as the graph's deps_options.style */
    uint64_t max;                      /* events */
};

/* Builds the timeline, with passes over the rows of NVTX, kernels, copies and sets. MP_ERR_IO,
 * MP_ERR_MEMORY, MP_ERR_LIMIT; the result is then empty. timeline_free gives it back. */
enum mp_status timeline_build(struct timeline *timeline, struct mp_trace *trace, struct deps *deps,
                              const struct timeline_options *options, struct mp_error *error);

void timeline_free(struct timeline *timeline);

/* The event of an activity, of any piece of a call; TIMELINE_NONE: there is none, or it was left
 * out. */
uint32_t timeline_event_of(const struct timeline *timeline, const struct deps *deps,
                           uint32_t activity);

/* ---- Level of detail ---- */

/* Events first to first + count - 1 of a track drawn as one. */
struct timeline_group {
    uint64_t begin;
    uint64_t end;
    uint64_t busy; /* ns inside events */
    uint32_t
        name; /* on which most of that time goes; if several are equal, the first in the group */
};

/* Groups of the level above the events (level 1: TIMELINE_FAN events, level 2: TIMELINE_FAN groups
 * of these, ...); the top one has one group. */
uint32_t timeline_groups_at(uint32_t events, unsigned level);

/* Number of levels above the events, up to the one with a single group; 0 for up to one event. */
unsigned timeline_levels_of(uint32_t events);

/* Fills the groups of a level of a track. `sums` has a number for each name; all are zero before
 * and after the call. */
void timeline_level_fill(const struct timeline *timeline, const struct timeline_track *track,
                         unsigned level, uint64_t *sums, struct timeline_group *groups);

/* ---- How busy ---- */

/* Time in which work of the `category` bits (1 << enum deps_kind) ran on any stream of a device,
 * ns. MP_ERR_MEMORY. */
enum mp_status timeline_busy(const struct timeline *timeline, uint64_t device, unsigned categories,
                             uint64_t *busy);

/* ---- Between the files of the timeline ---- */

/* Events of one lane that need rows, in order of begin; of equal begins, the longer first. */
struct timeline_strip {
    uint32_t lane;
    uint32_t domain;
    uint8_t kind; /* enum timeline_track_kind */
    struct timeline_event *events;
    size_t count, capacity;
    uint8_t *rows; /* of each event */
    size_t row_capacity;
};

/* The kind with this name and detail; it is made if it is new. MP_ERR_MEMORY. */
enum mp_status timeline_reach_kind(struct timeline *timeline, uint32_t name, uint32_t detail,
                                   uint32_t *kind);
enum mp_status timeline_reach_name(struct timeline *timeline, unsigned category, const char *text,
                                   uint32_t *name);

/* Gives the strip's events rows and appends them as tracks; the strip is then empty. */
enum mp_status timeline_add_strip(struct timeline *timeline, struct timeline_strip *strip);

/* Appends the ranges of a thread (of spans->threads) to its lane. */
enum mp_status timeline_add_ranges(struct timeline *timeline, struct timeline_strip *strip,
                                   const struct nvtx_spans *spans, uint32_t thread,
                                   const struct mp_intern *names);

/* Adds launch shapes and sizes in words to the kinds of work, and to nodes of graphs the lines that
 * made them. */
enum mp_status timeline_add_details(struct timeline *timeline, struct mp_trace *trace,
                                    const struct deps *deps, struct mp_error *error);

#endif
