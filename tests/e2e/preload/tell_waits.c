/* In place of libminiprof_preload.so: tells the recorder of waits that never were, whose times are
 * those of another clock. The recorder must take them as they are.
 *
 *     tell_waits      1,000 waits: the i-th begins at 1,000,000 i, lasts 500,000 + i, is of kind
 *                     i % 12 + 1, of thread 7, and was woken by thread 8 when half of it was over
 *     flood_of_waits  as many as come to a million, as fast as can be
 */
#include <stddef.h>

#include "../../../src/base/preload.h"

struct mp_preload miniprof_preload = {.version = MP_PRELOAD_VERSION};

void tell_waits(void);
void flood_of_waits(void);

static void tell(uint64_t count)
{
    for (uint64_t i = 1; i <= count; i++) {
        const struct mp_preload_wait wait = {.begin = 1000000 * i,
                                             .end = 1000000 * i + 500000 + i,
                                             .woken = 1000000 * i + 250000,
                                             .object = i,
                                             .thread = 7,
                                             .waker = i % 2 ? 8 : 0,
                                             .kind = (uint32_t)(i % 12 + 1)};

        if (miniprof_preload.waited)
            miniprof_preload.waited(&wait);
    }
}

void tell_waits(void)
{
    tell(1000);
}

void flood_of_waits(void)
{
    tell(1000000);
}
