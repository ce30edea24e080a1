/* When a device was busy: the union of what ran on its streams, row by row of the time line.
 *
 * Rows are in order, so they are merged: a heap holds the next event of each.
 */
#include <stdlib.h>

#include "page/timeline/timeline.h"

#include "base/poison.h"

struct row {
    const struct timeline_event *at;
    const struct timeline_event *end;
};

struct merging {
    const struct timeline *timeline;
    unsigned categories;
    struct row *rows; /* a heap: the earliest at [0] */
    size_t count;
};

/* Skips events that are not asked for; false when none is left. */
static bool settle(const struct merging *merging, struct row *row)
{
    const struct timeline *timeline = merging->timeline;

    for (; row->at < row->end; row->at++) {
        const struct timeline_kind *kind = &timeline->kinds[row->at->kind];

        if (merging->categories >> timeline->names[kind->name].category & 1)
            return true;
    }
    return false;
}

static void sink(struct merging *merging, size_t at)
{
    struct row *rows = merging->rows;

    for (;;) {
        size_t min = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < merging->count; child++) {
            if (rows[child].at->begin < rows[min].at->begin)
                min = child;
        }
        if (min == at)
            return;
        struct row held = rows[at];
        rows[at] = rows[min];
        rows[min] = held;
        at = min;
    }
}

/* Moves the earliest row on. */
static void busy_advance(struct merging *merging)
{
    merging->rows[0].at++;
    if (!settle(merging, &merging->rows[0]))
        merging->rows[0] = merging->rows[--merging->count];
    sink(merging, 0);
}

static void collect(struct merging *merging, uint64_t device)
{
    const struct timeline *timeline = merging->timeline;

    for (size_t i = 0; i < timeline->track_count; i++) {
        const struct timeline_track *track = &timeline->tracks[i];
        struct row row = {timeline->events + track->first,
                          timeline->events + track->first + track->count};

        if (track->kind == TIMELINE_WORK && timeline->lanes[track->lane].device == device &&
            settle(merging, &row))
            merging->rows[merging->count++] = row;
    }
    for (size_t i = merging->count; i-- > 0;)
        sink(merging, i);
}

enum mp_status timeline_busy(const struct timeline *timeline, uint64_t device, unsigned categories,
                             uint64_t *busy)
{
    struct merging merging = {.timeline = timeline, .categories = categories};
    uint64_t counted_to = 0;

    *busy = 0;
    merging.rows = calloc(timeline->track_count + 1, sizeof *merging.rows);
    if (!merging.rows)
        return MP_ERR_MEMORY;
    collect(&merging, device);
    for (; merging.count; busy_advance(&merging)) {
        uint64_t begin = merging.rows[0].at->begin;
        uint64_t end = begin + merging.rows[0].at->duration;

        if (begin < counted_to)
            begin = counted_to;
        if (end > begin) {
            *busy += end - begin;
            counted_to = end;
        }
    }
    free(merging.rows);
    return MP_OK;
}
