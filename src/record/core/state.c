/* The recorder itself. Entry points in all folders that get no pointer reach it through
 * mp_recorder, so it stands in a file without dependencies.
 */
#include "record/core/state.h"

#include "base/poison.h"

static struct recorder the_recorder;
struct recorder *const mp_recorder = &the_recorder;
