/* Asking CUPTI for its complete buffers. The flusher's. */
#ifndef MP_RECORD_CUPTI_FLUSH_H
#define MP_RECORD_CUPTI_FLUSH_H

#include <stdint.h>

struct recorder;

/* Does what flusher_ask has asked for: flushes CUPTI, if it may be flushed, and registers the clock
 * again, if flusher.gives_clock. The flusher only. */
void flush_buffers(struct recorder *recorder);

/* Notes how many records CUPTI has dropped, for the writer. Asks CUPTI, which may hang: the
 * flusher, and the thread of the last flush. */
void flush_count_drops(struct recorder *recorder);

/* Calls `how` through range_switch, if the clock may be registered again now. `how` is
 * activity_give_clock or calls it. `answers`: clients_answers before the last flush. The flusher
 * only. */
void flush_give_clock(struct recorder *recorder, uint64_t answers,
                      void (*how)(struct recorder *recorder));

#endif
