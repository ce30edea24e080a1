/* Asking CUPTI for its complete buffers. The flusher's. */
#ifndef MP_RECORD_CUPTI_FLUSH_H
#define MP_RECORD_CUPTI_FLUSH_H

#include <stdint.h>

struct recorder;

/* What flusher_ask asks for: a flush, if CUPTI may be flushed, and its clock, if
 * flusher.gives_clock. The flusher only. */
void flush_buffers(struct recorder *recorder);

/* Has `how`, which is or asks for activity_give_clock, done by range_switch, where CUPTI may get
 * its clock again. `answers`: clients_answers before the last flush. The flusher only. */
void flush_give_clock(struct recorder *recorder, uint64_t answers,
                      void (*how)(struct recorder *recorder));

#endif
