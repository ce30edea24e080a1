/* How the kernel divided a thread's time between two calls: computing, ready but not running, or
 * blocked.
 *
 * Asking the kernel takes a system call, 0.2 to 0.7 us, so it is done only where that does not
 * matter: at the begin of a call that comes HOST_TIME_GAP after the one before it, and at the end
 * of a call if the last time was HOST_TIME_FRESH ago. What lies between two askings is a stretch.
 * It may hold short calls as well as the gap; if the gap is not at least half of it, the stretch is
 * dropped.
 *
 * How long the thread was ready takes three more system calls, 8 us. They are made only for
 * stretches, and after calls, of HOST_TIME_LONG or more, and after as much time in which the thread
 * was not running. Up to then it may have been ready before the stretch, and as much is not
 * counted.
 *
 * Owned by the thread whose time it is.
 */
#ifndef MP_RECORD_CORE_HOST_TIME_H
#define MP_RECORD_CORE_HOST_TIME_H

#include <stdbool.h>
#include <stdint.h>

#define HOST_TIME_GAP   UINT64_C(50000) /* ns */
#define HOST_TIME_FRESH UINT64_C(200000)
#define HOST_TIME_LONG  UINT64_C(2000000)

/* What the kernel is asked about the calling thread. Tests answer in its place. */
struct host_kernel {
    uint64_t (*running)(void);      /* ns on a processor, ever */
    bool (*ready)(uint64_t *ready); /* ns ready without one, ever; false: it does not say */
};

struct host_time {
    const struct host_kernel *kernel; /* NULL: the kernel itself */
    uint64_t asked;                   /* when the kernel was asked last; 0: never */
    uint64_t left;                    /* when the last call ended */
    uint64_t running;                 /* ns on a processor up to then, */
    uint64_t ready;                   /* and ready without one, when that was asked last: */
    uint64_t ready_at;
    uint64_t ready_running; /* `running` then */
    bool ready_known;
};

/* Times in ns. The rest of the stretch the thread was blocked. */
struct host_stretch {
    uint64_t begin;
    uint64_t end;
    uint64_t computing;
    uint64_t ready; /* at least; 0 for stretches shorter than HOST_TIME_LONG */
};

/* The thread enters a call at `now`. Whether a stretch ends here. */
bool host_time_enter(struct host_time *time, uint64_t now, struct host_stretch *stretch);

/* It leaves the call. */
void host_time_leave(struct host_time *time, uint64_t now);

#endif
