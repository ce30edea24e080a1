/* Which of CUPTI's known faults the loaded version has (quirks.def). */
#ifndef MP_RECORD_API_QUIRKS_H
#define MP_RECORD_API_QUIRKS_H

#include <stdbool.h>
#include <stdint.h>

enum quirk {
#define QUIRK(name, first, fixed, answer, what, done, source) QUIRK_##name,
#include "record/cupti/quirks.def"
#undef QUIRK
    QUIRK_COUNT
};

/* `version`: CUPTI_API_VERSION of the loaded library. Any thread. */
bool quirk_is_in(enum quirk quirk, uint32_t version);

/* Logs, at level info, each fault of this version that the recorder cannot work around. */
void quirks_tell(uint32_t version);

#endif
