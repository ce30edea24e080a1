/* The recorder itself. The entry points of this folder that get no pointer reach it through
 * mp_recorder.
 */
#include "record/process/recorder.h"

#include "base/poison.h"

static struct recorder the_recorder;
struct recorder *const mp_recorder = &the_recorder;
