/* What a forked child does: it records nothing, and holds nothing of its parent's. It knows all
 * parts that have something to let go of, so it stands above them.
 */
#include "record/process/fork.h"

#include <pthread.h>
#include <unistd.h>

#include "record/core/state.h"
#include "record/flight/file.h"
#include "record/nvtx/nvtx.h"
#include "record/process/crash.h"
#include "record/process/ctl.h"
#include "record/process/signals.h"

#include "base/poison.h"

/* The child has only the forking thread, CUDA is unusable in it, and locks may be in any state: so
 * nothing is called and nothing freed, only the shared descriptors are closed. Where CUDA has not
 * begun there is nothing but NVTX's events, and the child may begin CUDA itself. */
static void in_child(void)
{
    struct recorder *recorder = mp_recorder;

    if (recorder_phase(recorder) == PHASE_IDLE) {
        mp_nvtx_child_begins_anew();
        return;
    }
    mp_nvtx_child_after_fork();
    signals_reset();
    crash_reset();
    if (recorder_phase(recorder) != PHASE_INERT && output_is_open(&recorder->output))
        close(recorder->output.fd);
    if (recorder_phase(recorder) != PHASE_INERT) {
        flight_file_close(&recorder->output);
        ctl_close(&recorder->ctl);
    }
    atomic_store(&recorder->phase, PHASE_INERT);
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
