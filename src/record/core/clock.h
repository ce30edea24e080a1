/* The recorder's one clock.
 *
 * CUPTI's records, our callbacks and NVTX events must lie on one time axis, so all of them read
 * this clock. CUPTI gets it through cuptiActivityRegisterTimestampCallback, and converts device
 * times to it too.
 *
 * The clock is CLOCK_MONOTONIC: a vdso call of about 20 ns, never stepped by NTP, unlike CUPTI's
 * default CLOCK_REALTIME. If the software GPU is loaded, it is the software GPU's virtual clock.
 */
#ifndef MP_RECORD_CORE_CLOCK_H
#define MP_RECORD_CORE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Now, in nanoseconds. Any thread, before and after initialisation; never fails. Not for signal
 * handlers: the first call resolves a symbol. */
uint64_t mp_clock_now(void);

/* CLOCK_MONOTONIC itself, for waits and limits, also with the software GPU, whose clock is virtual.
 * Any thread, also in signal handlers. */
uint64_t mp_monotonic_ns(void);
int64_t mp_monotonic_ms(void);

/* A clock of clock_gettime(2), ns; 0 if there is no such clock. Async-signal-safe. */
uint64_t mp_system_clock_ns(clockid_t clock);

/* CLOCK_MONOTONIC in `ns` nanoseconds, for waits until then. */
struct timespec mp_monotonic_in(uint64_t ns);

/* Initialises a condition whose waits end by CLOCK_MONOTONIC. False without memory. */
bool mp_monotonic_condition(pthread_cond_t *condition);

/* Whether the clock is not that of the machine. */
bool mp_clock_is_virtual(void);

/* Whether the software GPU plays the time, so that who reads the clock moves it. `reading`: of the
 * clock, less than a minute ago. */
bool mp_clock_is_played(uint64_t reading);

/* Name of the clock, for the header's key `clock`: "monotonic" or "simgpu". */
const char *mp_clock_name(void);

#endif
