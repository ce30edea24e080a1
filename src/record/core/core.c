/* Whether this process is still the one that is recorded. */
#include "record/core/core.h"

#include "base/process_id.h"

#include "base/poison.h"

bool core_is_of_process(const struct core *core)
{
    pid_t pid = mp_process_id();

    return pid < 0 || pid == core->pid;
}
