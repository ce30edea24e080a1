/* Launches of a graph that are only a part of an iteration.
 *
 *     kernels   |---------------------------|---------------------------|
 *       calls     a  g  g  g  g    wait       a  g  g  g  g    wait
 *
 * A loop inside of a model launches its graph so many times an iteration, beside other kernels, and
 * nobody waits in between. Tokens of a decoder are iterations of their own: each is waited for. So
 * are steps that have an input each, and those between which there is only a wait now and then.
 */
#include "reports/iterations/build.h"

#include "base/poison.h"

/* Of the windows, that hold the usual number of launches. */
#define ALIKE 0.9

struct fill {
    const struct iterations_finder *finder;
    size_t at; /* launch */
};

/* Launches that begin in a window; windows come in order of begin. */
static size_t held_by(struct fill *fill, const struct iteration *window)
{
    const struct iterations *launches = fill->finder->result;
    size_t held = 0;

    while (fill->at < launches->count && launches->items[fill->at].begin < window->begin)
        fill->at++;
    while (fill->at < launches->count && launches->items[fill->at].begin < window->host_end) {
        fill->at++;
        held++;
    }
    return held;
}

static bool is_held_equally(const struct iterations_finder *finder)
{
    struct fill fill = {.finder = finder};
    size_t each = (finder->result->count + finder->best_count / 2) / finder->best_count;
    size_t alike = 0;

    for (size_t i = 0; i < finder->best_count; i++)
        alike += held_by(&fill, &finder->best[i]) == each;
    return each >= 2 && (double)alike >= ALIKE * (double)finder->best_count;
}

/* Whether a window has a kernel that is not of the graph. */
static bool is_beside_others(const struct iterations_finder *finder)
{
    return finder->result->kernels_all >= finder->result->kernels + finder->best_count;
}

/* Whether the thread waits for every second launch, or more often. */
static bool is_awaited(const struct iterations_finder *finder, uint32_t lane)
{
    return 2 * iterations_segments_count(finder, lane) >= finder->result->count;
}

/* Whether it copies something to the device for every second launch, or more often. */
static bool is_fed(const struct iterations_finder *finder, uint32_t lane)
{
    const struct deps_lane *of = &finder->deps->lanes[lane];
    size_t copies = 0;

    for (uint32_t at = of->first; at < of->first + of->count; at++)
        copies += (finder->result->launched[at] & ITERATIONS_LAUNCHED_HTOD) != 0;
    return 2 * copies >= finder->result->count;
}

bool iterations_are_paced(const struct iterations_finder *finder, uint32_t lane)
{
    return lane != DEPS_NONE && (is_awaited(finder, lane) || is_fed(finder, lane));
}

/* Whether each of its sequences holds several waits, between which the thread does the same. */
static enum mp_status holds_several(const struct iterations_finder *finder,
                                    const struct iterations_candidate *candidate, bool *several)
{
    *several = false;
    if (candidate->way != ITERATIONS_KERNELS || candidate->thread == DEPS_NONE ||
        iterations_segments_count(finder, candidate->thread) < 2 * finder->result->count - 1)
        return MP_OK;
    return iterations_segments_alike(finder, candidate->thread, several);
}

static bool is_part(const struct iterations_finder *finder,
                    const struct iterations_candidate *candidate)
{
    return candidate->way == ITERATIONS_GRAPH && finder->best_count &&
           finder->best_facts.way == ITERATIONS_KERNELS && candidate->thread != DEPS_NONE &&
           is_beside_others(finder) && is_held_equally(finder) &&
           !iterations_are_paced(finder, candidate->thread);
}

enum mp_status iterations_counts_half(const struct iterations_finder *finder,
                                      const struct iterations_candidate *candidate, bool *half)
{
    MP_TRY(holds_several(finder, candidate, half));
    *half |= is_part(finder, candidate);
    return MP_OK;
}

bool iterations_are_phases(const struct iterations_finder *finder,
                           const struct iterations_candidate *candidate)
{
    return finder->best_count && finder->best_facts.way == ITERATIONS_RANGES &&
           candidate->way > ITERATIONS_RANGES && candidate->way < ITERATIONS_REQUESTS &&
           candidate->coverage >= ITERATIONS_ENOUGH_COVERAGE && is_held_equally(finder) &&
           iterations_are_paced(finder, candidate->thread);
}
