/* The recorder itself. Entry points that get no pointer reach it by mp_recorder, in all folders; so
 * it stands in a file that needs no other.
 */
#include "record/core/state.h"

#include "base/poison.h"

static struct recorder the_recorder;
struct recorder *const mp_recorder = &the_recorder;
