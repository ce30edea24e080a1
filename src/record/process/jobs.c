/* Which function stands behind each job of core/jobs.h. No other file knows the calls that go from
 * a folder into a higher one.
 */
#include "record/process/jobs.h"

#include "record/core/state.h"
#include "record/cupti/flush.h"
#include "record/process/callbacks.h"
#include "record/process/lifecycle.h"
#include "record/ranges/switch.h"

#include "base/poison.h"

void jobs_register(struct recorder *recorder)
{
    recorder->jobs = (struct jobs){
        .on_callback = callbacks_take,
        .at_exit_again = lifecycle_at_exit_again,
        .switch_alone = range_switch,
        .profiler_call = range_profiler_call,
        .thread_waited = gaps_waited,
        .serve_ranges = range_serve,
        .flush_buffers = flush_buffers,
        .look_for_clients = clients_look,
        .note_range = flight_note_range,
        .note_counts = flight_note_counts,
    };
}
