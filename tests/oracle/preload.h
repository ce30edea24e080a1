/* preload.h: what libminiprof_preload.so would tell the recorder of the threads of run_programs
 * (base/preload.h), with the times of the virtual clock.
 */
#ifndef ORACLE_PRELOAD_H
#define ORACLE_PRELOAD_H

#include "base/preload.h"

/* The calling thread's wait has ended. */
void preload_waited(const struct mp_preload_wait *wait);

/* The calling thread gives this host function to the driver; NULL: it has given it. The recorder
 * fills in what it knows. */
void preload_gives(struct mp_preload_host_function *function);

/* It has run, in the calling thread, during this time. */
void preload_ran(const struct mp_preload_host_function *function, uint64_t begin, uint64_t end);

#endif
