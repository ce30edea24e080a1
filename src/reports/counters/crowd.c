/* The number of pieces that run changes at their begins and ends only. So what a piece has grows
 * evenly from one of these moments to the next:
 *
 *     pieces   aaaaaaaa
 *                  bbbbbbbb
 *     times    0   4   8   12
 *     parts    0   4   6   10
 */
#include "reports/counters/crowd.h"

#include <stdlib.h>

#include "reports/counters/pass.h"

#include "base/poison.h"

static int time_order(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return (one > other) - (one < other);
}

/* The next moment at which a piece begins or ends. */
static void add_moment(struct crowd *crowd, uint64_t time, size_t running)
{
    double part = 0;

    if (crowd->count) {
        part = crowd->parts[crowd->count - 1];
        if (running)
            part += (double)(time - crowd->times[crowd->count - 1]) / (double)running;
    }
    crowd->times[crowd->count] = time;
    crowd->parts[crowd->count++] = part;
}

enum mp_status crowd_build(struct crowd *crowd, const struct work_piece *pieces, size_t count)
{
    uint64_t *ends = calloc(count + 1, sizeof *ends);
    size_t begun = 0, ended = 0;

    crowd->times = reallocarray(NULL, 2 * count + 1, sizeof *crowd->times);
    crowd->parts = reallocarray(NULL, 2 * count + 1, sizeof *crowd->parts);
    crowd->count = 0;
    if (!ends || !crowd->times || !crowd->parts) {
        free(ends);
        return MP_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        ends[i] = pieces[i].end;
    qsort(ends, count, sizeof *ends, time_order);
    while (ended < count) {
        if (begun < count && pieces[begun].start <= ends[ended]) {
            add_moment(crowd, pieces[begun].start, begun - ended);
            begun++;
        } else {
            add_moment(crowd, ends[ended], begun - ended);
            ended++;
        }
    }
    free(ends);
    return MP_OK;
}

static double part_until(const struct crowd *crowd, uint64_t time)
{
    size_t low = 0, high = crowd->count;
    double share;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (crowd->times[middle] > time)
            high = middle;
        else
            low = middle + 1;
    }
    if (!low || low == crowd->count)
        return low ? crowd->parts[low - 1] : 0;
    share = (double)(time - crowd->times[low - 1]) /
            (double)(crowd->times[low] - crowd->times[low - 1]);
    return crowd->parts[low - 1] + share * (crowd->parts[low] - crowd->parts[low - 1]);
}

double crowd_part(const struct crowd *crowd, uint64_t from, uint64_t to)
{
    return to > from ? part_until(crowd, to) - part_until(crowd, from) : 0;
}

void crowd_free(struct crowd *crowd)
{
    free(crowd->times);
    free(crowd->parts);
    *crowd = (struct crowd){.times = NULL};
}
