/* What a forked child does: it records nothing, and keeps nothing of its parent's. This file knows
 * all modules that must let something go, so it stands above them.
 */
#include "record/process/fork.h"

#include <pthread.h>
#include <unistd.h>

#include "record/nvtx/nvtx.h"
#include "record/process/crash.h"
#include "record/process/ctl.h"
#include "record/process/flight_file.h"
#include "record/process/recorder.h"
#include "record/process/signals.h"

#include "base/poison.h"

/* The child has only the forking thread, cannot use CUDA, and its locks may be in any state. So it
 * calls nothing and frees nothing; it only closes the shared descriptors. If CUDA has not begun,
 * there are only NVTX events, and the child may begin CUDA itself. */
static void in_child(void)
{
    struct recorder *recorder = mp_recorder;

    if (core_phase(&recorder->gpu.core) == PHASE_IDLE) {
        mp_nvtx_child_begins_anew();
        return;
    }
    mp_nvtx_child_after_fork();
    waits_stop(&recorder->waits);
    signals_reset();
    gaps_reset(&recorder->stacks);
    crash_reset();
    if (core_phase(&recorder->gpu.core) != PHASE_INERT && output_is_open(&recorder->output))
        close(recorder->output.fd);
    if (core_phase(&recorder->gpu.core) != PHASE_INERT) {
        flight_file_close(&recorder->output);
        ctl_close(&recorder->ctl);
    }
    atomic_store(&recorder->gpu.core.phase, PHASE_INERT);
}

static void register_fork_handler(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

void fork_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, register_fork_handler);
}
