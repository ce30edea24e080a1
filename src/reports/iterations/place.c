/* Where in a period an iteration begins.
 *
 *     recorded   a a a b a a a b a a a b      12 items of period 4
 *     at 0       |-----| |-----| |-----|      all of them
 *     at 3       . . . |-----| |-----| .      where the thread pauses longest, such as for `a`
 *
 * The program itself says where recording begins and ends, and it says so between two iterations.
 * So if what was recorded is a whole number of periods and nothing else, the first item begins an
 * iteration. Otherwise the longest pause says where: there the program waits and begins again.
 */
#include "reports/iterations/build.h"

#include "base/poison.h"

static bool is_all(const struct mp_period *period, size_t items)
{
    return !period->first && period->count == items && period->count % period->period == 0;
}

uint32_t iterations_place(const struct mp_period *period, size_t items, iterations_pause *pause,
                          const void *context)
{
    uint32_t best = 0;
    double max;

    if (is_all(period, items))
        return 0;
    max = pause(context, 0);
    for (uint32_t place = 1; place < period->period; place++) {
        double here = pause(context, place);

        if (here > max) {
            max = here;
            best = place;
        }
    }
    return best;
}
