/* The recorder itself. Entry points in all folders that get no pointer reach it through
 * mp_recorder, so it stands in a file without dependencies.
 */
#include "record/core/state.h"

#include "base/process_id.h"

#include "base/poison.h"

static struct recorder the_recorder;
struct recorder *const mp_recorder = &the_recorder;

bool recorder_is_of_process(const struct recorder *recorder)
{
    pid_t pid = mp_process_id();

    return pid < 0 || pid == recorder->pid;
}
