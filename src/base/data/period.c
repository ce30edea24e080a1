/* Finds what repeats in a sequence, in linear time. A stretch over half of the sequence holds the
 * middle item, so the Z function is run from the middle to both sides.
 */
#include "base/data/period.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/poison.h"

/* A sequence read from its begin or from its end. */
struct view {
    const uint32_t *items;
    size_t count;
    bool backwards;
};

static uint32_t item(const struct view *view, size_t at)
{
    return view->items[view->backwards ? view->count - 1 - at : at];
}

/* The Z function: for each position, how many items from there on equal the first items of the
 * pattern. `self` is the Z function of the pattern itself (NULL: the sequence is the pattern). The
 * match that reaches farthest right ends at `to` and began at `from`, so the items in it are known
 * from the pattern. */
static void match(const struct view *pattern, const uint32_t *self, const struct view *text,
                  uint32_t *lengths)
{
    size_t from = 0;
    size_t to = 0;
    size_t first = self ? 0 : 1;

    if (!self && text->count)
        lengths[0] = (uint32_t)text->count;
    for (size_t i = first; i < text->count; i++) {
        size_t length = 0;

        if (i < to) {
            length = (self ? self : lengths)[i - from];
            if (length > to - i)
                length = to - i;
        }
        while (length < pattern->count && i + length < text->count &&
               item(pattern, length) == item(text, i + length))
            length++;
        lengths[i] = (uint32_t)length;
        if (i + length > to) {
            from = i;
            to = i + length;
        }
    }
}

/* How far the sequence agrees with itself, from its middle and from another place. */
struct agreement {
    size_t count;
    size_t middle;
    uint32_t *forwards;  /* by the other place */
    uint32_t *backwards; /* by count minus the other place */
};

/* The stretch in which each item equals the one `period` after it. It joins how far the middle and
 * the other place agree to the right, and to the left. */
static struct mp_period stretch(const struct agreement *agreement, size_t period, bool right)
{
    size_t low = right ? agreement->middle : agreement->middle - period;
    size_t other = right ? agreement->middle + period : low;
    size_t after = other < agreement->count ? agreement->forwards[other] : 0;
    size_t before = other ? agreement->backwards[agreement->count - other] : 0;

    return (struct mp_period){(uint32_t)period, (uint32_t)(low - before),
                              (uint32_t)(before + period + after)};
}

static bool is_enough(const struct agreement *agreement, const struct mp_period *found,
                      unsigned repeats)
{
    return found->count / found->period >= repeats && found->count >= agreement->count / 2 &&
           found->count >= agreement->count - found->count;
}

static void period_choose(const struct agreement *agreement, unsigned repeats,
                          struct mp_period *result)
{
    size_t max = agreement->count / repeats;

    for (size_t period = 1; period <= max; period++) {
        struct mp_period best = {0, 0, 0};

        if (agreement->middle + period <= agreement->count)
            best = stretch(agreement, period, true);
        if (period <= agreement->middle) {
            struct mp_period left = stretch(agreement, period, false);

            if (left.count > best.count)
                best = left;
        }
        if (best.period && is_enough(agreement, &best, repeats)) {
            *result = best;
            return;
        }
    }
}

static void agree(const uint32_t *items, struct agreement *agreement, uint32_t *self)
{
    size_t middle = agreement->middle;
    struct view right = {items + middle, agreement->count - middle, false};
    struct view left = {items, middle, true};
    struct view all = {items, agreement->count, false};

    match(&right, NULL, &right, self);
    match(&right, self, &all, agreement->forwards);
    all.backwards = true;
    match(&left, NULL, &left, self);
    match(&left, self, &all, agreement->backwards);
}

enum mp_status mp_period_find(const uint32_t *items, size_t count, unsigned repeats,
                              struct mp_period *period)
{
    struct agreement agreement = {.count = count, .middle = count / 2};
    uint32_t *self;
    enum mp_status status = MP_ERR_MEMORY;

    *period = (struct mp_period){0, 0, 0};
    if (count > INT32_MAX)
        return MP_ERR_LIMIT;
    if (!repeats || count < repeats)
        return MP_OK;
    agreement.forwards = reallocarray(NULL, count, sizeof *agreement.forwards);
    agreement.backwards = reallocarray(NULL, count, sizeof *agreement.backwards);
    self = reallocarray(NULL, count - agreement.middle, sizeof *self);
    if (agreement.forwards && agreement.backwards && self) {
        agree(items, &agreement, self);
        period_choose(&agreement, repeats, period);
        status = MP_OK;
    }
    free(agreement.forwards);
    free(agreement.backwards);
    free(self);
    return status;
}
