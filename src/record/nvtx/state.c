/* The NVTX handler's one state, in a file without dependencies: all others of this folder use it.
 */
#include "record/nvtx/state.h"

#include "base/poison.h"

struct nvtx_state nvtx_state_storage = {
    .once = PTHREAD_ONCE_INIT,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .switching = PTHREAD_MUTEX_INITIALIZER,
};
