/* The recorder's one clock.
 *
 * CUPTI's records, our callbacks and NVTX events must lie on one axis, so all of them read this
 * clock: CUPTI through cuptiActivityRegisterTimestampCallback, which converts device times to it
 * too. It is CLOCK_MONOTONIC (vdso, about 20 ns; never stepped by NTP as CUPTI's default
 * CLOCK_REALTIME is), or the virtual clock of the software GPU where that one is loaded.
 */
#ifndef MP_RECORD_CORE_CLOCK_H
#define MP_RECORD_CORE_CLOCK_H

#include <stdint.h>

/* Now, in nanoseconds. Any thread, before and after initialisation; never fails. Not for signal
 * handlers: the first call resolves a symbol. */
uint64_t mp_clock_now(void);

/* CLOCK_MONOTONIC itself, also beside the software GPU, whose clock is virtual: for waits and
 * limits. Any thread, also in signal handlers. */
uint64_t mp_monotonic_ns(void);
int64_t mp_monotonic_ms(void);

/* What the times are, for the header's key `clock`: "monotonic" or "simgpu". */
const char *mp_clock_name(void);

#endif
