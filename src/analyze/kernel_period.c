/* A stretch with period p that reaches over an anchor x is as long as what matches forwards from x,
 * what matches backwards from x, and p:
 *
 *     forwards[p]   how far shapes[x..] and shapes[x+p..] agree
 *     backwards[p]  how far they agree to the left of x and of x + p
 *
 * Both come for all p at once from Z functions (Gusfield, Algorithms on Strings, 1997, 1.4): of
 * shapes[x..], and of the reversed beginning followed by the reversed whole.
 *
 * Let the stretch begin at a and hold l >= n/2 kernels, l >= 3 p. The anchor must lie from a to
 * a + l - p, which are l - p >= 2/3 l >= n/3 places, the first of them at most at n/2: so one of
 * the anchors n/4 and n/2 does. */
#include "analyze/kernel_period.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/poison.h"

/* `first_count` items from `first` on in steps of `step`, then those from `second` on. */
struct view {
    const uint32_t *first;
    const uint32_t *second;
    size_t first_count;
    size_t count;
    ptrdiff_t step;
};

static inline uint32_t item(const struct view *view, size_t index)
{
    if (index < view->first_count)
        return view->first[(ptrdiff_t)index * view->step];
    return view->second[(ptrdiff_t)(index - view->first_count) * view->step];
}

/* z[i]: how far the view and the view from i on agree; z[0] is not set. */
static void z_function(const struct view *view, uint32_t *z)
{
    size_t left = 0, right = 0; /* the match that reaches furthest */

    for (size_t i = 1; i < view->count; i++) {
        size_t length = 0;

        if (i < right) {
            length = z[i - left];
            if (length > right - i)
                length = right - i;
        }
        while (i + length < view->count && item(view, length) == item(view, i + length))
            length++;
        z[i] = (uint32_t)length;
        if (i + length > right) {
            left = i;
            right = i + length;
        }
    }
}

struct anchor {
    const uint32_t *shapes;
    size_t count;
    size_t at;
    uint32_t *forwards;  /* [p], count - at of them */
    uint32_t *backwards; /* [at + count - at - p] = [count - p] */
};

static void match(struct anchor *anchor)
{
    const uint32_t *shapes = anchor->shapes;
    struct view forwards = {.first = shapes + anchor->at,
                            .first_count = anchor->count - anchor->at,
                            .count = anchor->count - anchor->at,
                            .step = 1};
    struct view backwards = {.first = shapes + anchor->at - 1,
                             .second = shapes + anchor->count - 1,
                             .first_count = anchor->at,
                             .count = anchor->at + anchor->count,
                             .step = -1};

    z_function(&forwards, anchor->forwards);
    if (anchor->at)
        z_function(&backwards, anchor->backwards);
}

/* The shortest period of a stretch that is long enough; false when there is none. */
static bool choose(const struct anchor *anchor, struct kernel_period *period)
{
    for (size_t p = 1; p * KERNEL_PERIOD_LEAST_COUNT <= anchor->count; p++) {
        size_t ahead = p < anchor->count - anchor->at ? anchor->forwards[p] : 0;
        size_t behind = anchor->at ? anchor->backwards[anchor->count - p] : 0;
        size_t stretch;

        if (p > anchor->count - anchor->at)
            return false;
        if (behind > anchor->at)
            behind = anchor->at;
        stretch = behind + ahead + p;
        if (stretch >= KERNEL_PERIOD_LEAST_COUNT * p && 2 * stretch >= anchor->count) {
            *period = (struct kernel_period){anchor->at - behind, p, stretch / p};
            return true;
        }
    }
    return false;
}

enum mp_status kernel_period_find(const uint32_t *shapes, size_t count,
                                  struct kernel_period *period)
{
    struct anchor anchor = {.shapes = shapes, .count = count};
    struct kernel_period other;
    bool room;

    *period = (struct kernel_period){.length = 0};
    if (count < KERNEL_PERIOD_LEAST_COUNT)
        return MP_OK;
    if (count >= UINT32_C(1) << 31)
        return MP_ERR_LIMIT;
    anchor.forwards = reallocarray(NULL, count, sizeof *anchor.forwards);
    anchor.backwards = reallocarray(NULL, count + count / 2, sizeof *anchor.backwards);
    room = anchor.forwards && anchor.backwards;
    for (unsigned quarter = 1; room && quarter <= 2; quarter++) {
        anchor.at = count * quarter / 4;
        match(&anchor);
        if (choose(&anchor, &other) && (!period->length || other.length < period->length))
            *period = other;
    }
    free(anchor.forwards);
    free(anchor.backwards);
    return room ? MP_OK : MP_ERR_MEMORY;
}
