/* Finds a call that waits without need: the host goes on to launch work, and no copy was made for
 * which it could have waited:
 *
 *     thread   |launch a|  |synchronise|  |launch b|  |copy to host|  |synchronise|
 *                           needless                                   needed
 */
#include <string.h>

#include "base/text/units.h"
#include "reports/advise/build.h"

#include "base/poison.h"

/* What a thread did since it last waited. */
struct since {
    bool launched;           /* work */
    bool copied_back;        /* a result, which the host may want */
    bool copied_in;          /* from memory to which the host may write again */
    struct advise_call call; /* the call waits, and it is not known yet whether it must */
    bool open;
};

/* Calls that read the time between events: such a call was what the program waited for. */
static bool reads_events(const char *name)
{
    return strstr(name, "EventElapsedTime") != NULL;
}

static uint64_t waiting_of(const struct advise *advise, const struct advise_call *call)
{
    uint64_t waited = 0;

    for (uint32_t i = call->first; i <= call->last; i++)
        waited += deps_waiting(advise->deps, &advise->deps->activities[i]);
    return waited;
}

static bool may_be_needless(const struct advise *advise, const struct since *since,
                            const struct advise_call *call)
{
    bool synchronises = false;

    for (uint32_t i = call->first; i <= call->last; i++)
        synchronises |= advise->deps->activities[i].flags & (DEPS_SYNCHRONISES | DEPS_POLLS);
    return synchronises && since->launched && !since->copied_back && !since->copied_in &&
           call->iteration != DEPS_NONE && waiting_of(advise, call);
}

static void visit(struct advise *advise, struct since *since, const struct advise_call *call,
                  advise_take_wait *take, void *context)
{
    if (since->open && reads_events(advise_call_name(advise, call)))
        since->open = false;
    if (since->open && call->launched && !call->waits) {
        take(advise, &since->call, call, context);
        since->open = false;
    }
    if (call->waits) {
        bool open = may_be_needless(advise, since, call);

        *since = (struct since){.call = *call, .open = open};
        return;
    }
    since->launched |= call->launched != 0;
    since->copied_back |= (call->launched & ADVISE_LAUNCHED_DTOH) != 0;
    since->copied_in |= (call->launched & ADVISE_LAUNCHED_HTOD) != 0;
}

void advise_each_needless(struct advise *advise, advise_take_wait *take, void *context)
{
    for (uint32_t i = 0; i < advise->deps->thread_count; i++) {
        const struct deps_lane *lane = &advise->deps->lanes[i];
        struct since since = {.open = false};
        struct advise_call call;

        for (uint32_t at = lane->first; advise_next_call(advise, lane, &at, &call);)
            visit(advise, &since, &call, take, context);
    }
}

/* ---- The rule ---- */

struct waits {
    struct advise_tally *tally;
    uint64_t count;
    uint64_t time;
};

static void take_out(struct advise *advise, const struct advise_call *wait,
                     const struct advise_call *next, void *context)
{
    struct waits *waits = context;
    uint64_t time = waiting_of(advise, wait);

    (void)next;
    advise_edit_call(advise, wait, DEPS_EDIT_NO_WAIT | DEPS_EDIT_NO_TIME);
    if (!advise_counts(advise, wait->first))
        return;
    waits->count++;
    waits->time += time;
    advise_tally_add(waits->tally, advise->deps->activities[wait->first].name, time);
}

static enum mp_status wait_judge(struct advise *advise, struct advise_finding *finding,
                                 struct advise_tally *tally)
{
    bool one;
    struct waits waits = {.tally = tally};

    advise_each_needless(advise, take_out, &waits);
    if (!waits.count)
        return MP_OK;
    MP_TRY(advise_replay(advise, &finding->gain));
    finding->assumes = "the calls are gone; the host reads nothing that the GPU wrote to mapped or "
                       "managed memory before them";
    one = advise_is_one(advise_mean(advise, waits.count));
    advise_evidence(
        finding,
        "%s call%s an iteration wait%s for %s, then the host goes on to launch; no copy "
        "to or from the host was among what %s waited for",
        mp_figure(advise_mean(advise, waits.count)).text, one ? "" : "s", one ? "s" : "",
        advise_time(advise_mean(advise, waits.time)).text, one ? "it" : "they");
    advise_number(finding, "calls", advise_mean(advise, waits.count));
    advise_number(finding, "waiting_ns", advise_mean(advise, waits.time));
    advise_tally_lines(advise, tally, finding);
    return MP_OK;
}

enum mp_status advise_needless_wait(struct advise *advise, struct advise_finding *finding)
{
    struct advise_tally tally;
    enum mp_status status = advise_tally_init(&tally, advise->deps);

    if (!status)
        status = wait_judge(advise, finding, &tally);
    advise_tally_free(&tally);
    return status;
}
