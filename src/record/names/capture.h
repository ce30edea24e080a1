/* Which rows belong to a capture range.
 *
 * Other threads only post marks (range.h says when). The writer interprets them here, in order, so
 * there is nothing to lock. A START inside a range and a STOP outside of one have no effect, as in
 * nvprof: ranges do not nest. In mode auto the first START of cuProfilerStart discards all that was
 * recorded and begins range 1 anew.
 *
 * Work on the device belongs to the range in which it was launched, however late it runs. CUPTI
 * counts all calls of the process with one counter, so the work's correlation id lies between those
 * of the calls that began and ended the range. Everything else (calls, NVTX, ...) belongs to the
 * range in which it begins.
 *
 * Owned by the writer thread.
 */
#ifndef MP_RECORD_NAMES_CAPTURE_H
#define MP_RECORD_NAMES_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#define CAPTURE_REMEMBERED 16384u /* past ranges that late records may still belong to */

struct capture_range {
    uint64_t begin_correlation, end_correlation; /* 64 bits; open: UINT64_MAX */
    uint64_t begin_time, end_time;
    uint64_t earlier; /* ns from the begin on in which work launched before it was under way */
};

struct capture {
    uint32_t mode;  /* enum mp_capture of the configuration */
    bool open;      /* the last range has no end yet */
    bool started;   /* mode auto: cuProfilerStart was seen */
    uint64_t count; /* ranges begun, and the number of the last */
    uint32_t held;  /* of `ranges`, oldest first; the last `held` ranges */
    struct capture_range ranges[CAPTURE_REMEMBERED];
};

/* What a mark causes. */
enum capture_step {
    CAPTURE_NOTHING,
    CAPTURE_BEGIN, /* range `count` has begun */
    CAPTURE_CUT,   /* the same, and all rows up to now are to be discarded */
    CAPTURE_END    /* range `count` has ended */
};

/* `at_once`: the first range begins with the recording. Answers CAPTURE_BEGIN or CAPTURE_NOTHING.
 */
enum capture_step capture_open(struct capture *capture, uint32_t mode, bool at_once);

/* `by_profiler`: the mark is a cuProfilerStart, with which mode auto begins anew. */
enum capture_step capture_start(struct capture *capture, uint64_t time, uint64_t correlation,
                                bool by_profiler);
enum capture_step capture_stop(struct capture *capture, uint64_t time, uint64_t correlation);

/* From now on the open range keeps nothing that begins after `time`, except work on the device,
 * which is kept as before. */
void capture_limit(struct capture *capture, uint64_t time);

/* The begins and ends of ranges, counted from 0: range n begins with edge 2n - 2 and ends with edge
 * 2n - 1. Answers how many there are; the oldest that is remembered is `*first`. */
static inline uint64_t capture_edges(const struct capture *capture, uint64_t *first)
{
    *first = 2 * (capture->count - capture->held);
    return 2 * capture->count - capture->open;
}

/* The time of a remembered edge. */
static inline uint64_t capture_edge_time(const struct capture *capture, uint64_t edge)
{
    uint64_t first = 2 * (capture->count - capture->held);
    const struct capture_range *range = &capture->ranges[(edge - first) / 2];

    return edge & 1 ? range->end_time : range->begin_time;
}

/* The number of the remembered range in which a launch was made; 0: in none. */
uint64_t capture_number_of(const struct capture *capture, uint64_t correlation);

/* The slow parts of the two below: a search through the ranges before the last. */
bool capture_held_correlation(const struct capture *capture, uint64_t correlation);
bool capture_held_time(const struct capture *capture, uint64_t time);

static inline bool capture_range_has_correlation(const struct capture_range *range,
                                                 uint64_t correlation)
{
    return correlation > range->begin_correlation && correlation < range->end_correlation;
}

static inline bool capture_range_has_time(const struct capture_range *range, uint64_t time)
{
    return time >= range->begin_time && time < range->end_time;
}

/* Whether what began at `time` is kept. */
static inline bool capture_keeps_time(const struct capture *capture, uint64_t time)
{
    if (!capture->held)
        return false;
    return capture_range_has_time(&capture->ranges[capture->held - 1], time) ||
           capture_held_time(capture, time);
}

/* Notes that work which is not kept ran until `end`, or still runs at `end`. If it was launched
 * before the range that contains `end`, extends that range's `earlier`, sets *number and returns
 * the ns added; otherwise returns 0. `correlation` 0: the caller knows that it was launched before.
 */
uint64_t capture_note_earlier(struct capture *capture, uint64_t correlation, uint64_t end,
                              uint64_t *number);

/* Whether what lasted from `begin` to `end` was under way in a range. */
bool capture_keeps_span(const struct capture *capture, uint64_t begin, uint64_t end);

/* Whether device work of this launch is kept; for work without a correlation id its begin decides.
 */
static inline bool capture_keeps_work(const struct capture *capture, uint64_t correlation,
                                      uint64_t time)
{
    if (!capture->held)
        return false;
    if (!correlation)
        return capture_keeps_time(capture, time);
    return capture_range_has_correlation(&capture->ranges[capture->held - 1], correlation) ||
           capture_held_correlation(capture, correlation);
}

#endif
