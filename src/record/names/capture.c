/* Decides which rows belong to a capture range. Only the writer runs this, in the order of marks,
 * so there is nothing to lock.
 */
#include "record/names/capture.h"

#include <string.h>

#include "base/data/algorithms.h"
#include "base/settings/config.h"

#include "base/poison.h"

static enum capture_step capture_begin(struct capture *capture, uint64_t time, uint64_t correlation)
{
    if (capture->held == CAPTURE_REMEMBERED) {
        /* Drops half of the ranges at once, so that the move costs little for each range. */
        capture->held = CAPTURE_REMEMBERED / 2;
        memmove(capture->ranges, capture->ranges + CAPTURE_REMEMBERED / 2,
                capture->held * sizeof(capture->ranges[0]));
    }
    capture->ranges[capture->held++] = (struct capture_range){
        .begin_correlation = correlation,
        .end_correlation = UINT64_MAX,
        .begin_time = time,
        .end_time = UINT64_MAX,
    };
    capture->open = true;
    capture->count++;
    return CAPTURE_BEGIN;
}

enum capture_step capture_open(struct capture *capture, uint32_t mode, bool at_once)
{
    capture->mode = mode;
    /* From 0: a record with an unknown time counts as inside. */
    return at_once ? capture_begin(capture, 0, 0) : CAPTURE_NOTHING;
}

enum capture_step capture_start(struct capture *capture, uint64_t time, uint64_t correlation,
                                bool by_profiler)
{
    if (by_profiler && !capture->started && capture->mode == MP_CAPTURE_AUTO) {
        capture->started = true;
        capture->held = 0;
        capture->count = 0;
        capture_begin(capture, time, correlation);
        return CAPTURE_CUT;
    }
    return capture->open ? CAPTURE_NOTHING : capture_begin(capture, time, correlation);
}

enum capture_step capture_stop(struct capture *capture, uint64_t time, uint64_t correlation)
{
    if (!capture->open)
        return CAPTURE_NOTHING;
    struct capture_range *last = &capture->ranges[capture->held - 1];
    last->end_time = time;
    last->end_correlation = correlation ? correlation : UINT64_MAX;
    capture->open = false;
    return CAPTURE_END;
}

void capture_limit(struct capture *capture, uint64_t time)
{
    if (capture->open)
        capture->ranges[capture->held - 1].end_time = time;
}

uint64_t capture_number_of(const struct capture *capture, uint64_t correlation)
{
    /* the last range that begins before it */
    size_t low = MP_SEARCH(0, capture->held, i, capture->ranges[i].begin_correlation < correlation);

    if (!low || !capture_range_has_correlation(&capture->ranges[low - 1], correlation))
        return 0;
    return capture->count - capture->held + low;
}

bool capture_held_correlation(const struct capture *capture, uint64_t correlation)
{
    return capture_number_of(capture, correlation) != 0;
}

/* The last range that begins at `time` or before; NULL: there is none. */
static const struct capture_range *find_range(const struct capture *capture, uint64_t time)
{
    size_t low = MP_SEARCH(0, capture->held, i, capture->ranges[i].begin_time <= time);

    return low ? &capture->ranges[low - 1] : NULL;
}

/* A range that began with the process has begin 0: nothing is earlier. */
uint64_t capture_note_earlier(struct capture *capture, uint64_t correlation, uint64_t end,
                              uint64_t *number)
{
    const struct capture_range *found = find_range(capture, end);

    if (!found || !found->begin_time || correlation > found->begin_correlation)
        return 0;
    struct capture_range *range = &capture->ranges[found - capture->ranges];
    uint64_t until = (end < range->end_time ? end : range->end_time) - range->begin_time;
    uint64_t before = range->earlier;
    if (until <= before)
        return 0;
    range->earlier = until;
    *number = capture->count - capture->held + (uint64_t)(range - capture->ranges) + 1;
    return until - before;
}

bool capture_held_time(const struct capture *capture, uint64_t time)
{
    const struct capture_range *range = find_range(capture, time);

    return range && capture_range_has_time(range, time);
}

bool capture_keeps_span(const struct capture *capture, uint64_t begin, uint64_t end)
{
    const struct capture_range *range = find_range(capture, end);

    return range && range->begin_time < end && range->end_time > begin;
}
