/* Why wishes are not granted: the note of each in the trace, and a line for each reason. */
#ifndef MP_RECORD_SAMPLING_LACKS_H
#define MP_RECORD_SAMPLING_LACKS_H

#include "record/counters/wishes.h"

/* Static; NULL when CUPTI lacks nothing, or the reason is NVML's. */
const char *lacks_note(enum sample_lack lack);

/* One line for each reason, with the wishes that it holds for and what to do. `nvml_reason` is why
 * NVML does not read what SAMPLE_LACKS_NVML stands for. */
void lacks_say(unsigned device, const struct sample_plan *plan, const char *nvml_reason);

#endif
