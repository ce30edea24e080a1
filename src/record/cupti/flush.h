/* Asking CUPTI for its complete buffers. The flusher's. */
#ifndef MP_RECORD_CUPTI_FLUSH_H
#define MP_RECORD_CUPTI_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "record/cupti/activity.h"

struct gpu;

/* Does what flusher_ask has asked for: flushes CUPTI, if it may be flushed, and registers the clock
 * again, if flusher.gives_clock, through `alone` (gpu_switch_alone). The flusher only. */
void flush_buffers(struct gpu *gpu, gpu_switch_alone *alone);

/* Notes how many records CUPTI has dropped, for the writer. Asks CUPTI, which may hang: the
 * flusher, and the thread of the last flush. */
void flush_count_drops(struct gpu *gpu);

/* Whether the clock may be registered again now (activity_give_clock). `answers`: clients_answers
 * before the last flush. The flusher only. */
bool flush_may_give_clock(struct gpu *gpu, uint64_t answers);

#endif
