/* Which known faults the loaded CUPTI has, from the table quirks.def. */
#include "record/cupti/quirks.h"

#include <stddef.h>

#include "base/cupti_range.h"
#include "base/log.h"

#include "base/poison.h"

enum quirk_answer { VERSION, ALWAYS, TOLD };

static const struct {
    uint32_t first;
    uint32_t fixed;
    enum quirk_answer answer;
    const char *what;
    const char *done;
} quirks[QUIRK_COUNT] = {
#define QUIRK(name, first, fixed, answer, what, done, source)                                      \
    [QUIRK_##name] = {first, fixed, answer, what, done},
#include "record/cupti/quirks.def"
#undef QUIRK
};

#define QUIRK(name, first, fixed, answer, what, done, source)                                      \
    _Static_assert((first) <= MP_CUPTI_NEWEST && (fixed) <= MP_CUPTI_NEWEST,                       \
                   #name ": base/cupti_range.h knows no version as new");
#undef QUIRK

bool quirk_is_in(enum quirk quirk, uint32_t version)
{
    return version >= quirks[quirk].first &&
           (!quirks[quirk].fixed || version < quirks[quirk].fixed);
}

void quirks_tell(uint32_t version)
{
    size_t i;

    for (i = 0; i < QUIRK_COUNT; i++)
        if (quirks[i].answer == TOLD && quirk_is_in((enum quirk)i, version))
            mp_log_info("CUPTI %u has a known fault: %s (%s)", version, quirks[i].what,
                        quirks[i].done);
}
