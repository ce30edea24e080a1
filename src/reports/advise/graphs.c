/* graph_instantiation: a CUDA graph that is made anew, or updated, in each iteration.
 *
 *     thread   |begin capture|launch|launch|end capture|instantiate|launch graph|wait|destroy|
 *                             <-------------- gone ---------------->             <-- gone -->
 *
 * A launch that is captured launches nothing. Traces from before captures were recorded have no
 * begin: there the launches right before an instantiation that launched nothing are the capture.
 */
#include "base/text/units.h"
#include "reports/advise/build.h"

#include "base/poison.h"

struct making {
    struct advise *advise;
    struct advise_calls calls; /* all that is gone */
    uint64_t made, updated;
    uint64_t captured; /* calls, of those that are gone */
    uint64_t host;     /* ns, between these */
    uint32_t first;    /* piece of the first call of what may be a capture; DEPS_NONE */
    bool begun;        /* that call begins it */
    uint32_t step;     /* of the call before */
};

static bool counts(const struct making *making)
{
    return making->step != DEPS_NONE && making->advise->regular[making->step];
}

static void take_gone(struct making *making, const struct advise_call *call)
{
    advise_edit_call(making->advise, call, DEPS_EDIT_NO_TIME);
    if (counts(making))
        advise_calls_add(making->advise, &making->calls, call,
                         advise_call_time(making->advise, call));
}

/* The capture before this call goes, with the host code in it, but not where that is long. */
static void take_capture(struct making *making, const struct deps_lane *lane,
                         const struct advise_call *until)
{
    struct advise *advise = making->advise;
    struct advise_call call;

    for (uint32_t at = making->first; at < until->first;) {
        bool first = at == making->first;

        if (!advise_next_call(advise, lane, &at, &call))
            return;
        take_gone(making, &call);
        making->captured += counts(making);
        if (first || call.gap > ADVISE_MAX_LAUNCH_GAP)
            continue;
        advise->edits[call.first] |= DEPS_EDIT_NO_HOST;
        making->host += counts(making) ? call.gap : 0;
    }
}

static void forget_capture(struct making *making)
{
    making->first = DEPS_NONE;
    making->begun = false;
}

/* Whether the call may be part of a capture that goes on, or of one whose begin is not known. */
static bool may_be_captured(const struct making *making, const struct advise_call *call,
                            enum advise_call_kind kind)
{
    return !call->launched && !call->waits && (making->begun || kind == ADVISE_CALL_LAUNCHES);
}

static void visit(struct making *making, const struct deps_lane *lane,
                  const struct advise_call *call)
{
    enum advise_call_kind kind = advise_kind_of_call(making->advise, call);
    uint32_t step = advise_step_of(making->advise, call->first);

    if (step != making->step || step == DEPS_NONE)
        forget_capture(making);
    making->step = step;
    if (step == DEPS_NONE)
        return;
    if (kind == ADVISE_CALL_INSTANTIATES || kind == ADVISE_CALL_UPDATES) {
        if (making->first != DEPS_NONE)
            take_capture(making, lane, call);
        take_gone(making, call);
        making->made += counts(making) && kind == ADVISE_CALL_INSTANTIATES;
        making->updated += counts(making) && kind == ADVISE_CALL_UPDATES;
        forget_capture(making);
    } else if (kind == ADVISE_CALL_DESTROYS) {
        take_gone(making, call);
    } else if (kind == ADVISE_CALL_CAPTURES) {
        making->first = call->first;
        making->begun = true;
    } else if (!may_be_captured(making, call, kind)) {
        forget_capture(making);
    } else if (making->first == DEPS_NONE) {
        making->first = call->first;
    }
}

static void tell_graphs(const struct making *making, struct advise_finding *finding)
{
    const struct advise *advise = making->advise;

    if (making->made) {
        finding->assumes = "one executable graph, made before the loop, serves all iterations";
    } else {
        finding->title = "A CUDA graph is updated inside the loop";
        finding->to_do = "Launch the graph as it is: keep what changes in memory that its kernels "
                         "read, or change single nodes with cudaGraphExecKernelNodeSetParams.";
        finding->assumes = "at best: nothing has to be updated";
        finding->certainty = ADVISE_BOUND;
        finding->confidence = 0.3;
    }
    double often = advise_mean(advise, making->made ? making->made : making->updated);
    advise_evidence(finding,
                    "%s graph%s an iteration %s %s; with what captures and destroys graphs, %s "
                    "calls take %s, host code between captured calls %s",
                    mp_figure(often).text, advise_is_one(often) ? "" : "s",
                    advise_is_one(often) ? "is" : "are", making->made ? "instantiated" : "updated",
                    mp_figure(advise_mean(advise, making->calls.count)).text,
                    advise_time(advise_mean(advise, making->calls.time)).text,
                    advise_time(advise_mean(advise, making->host)).text);
    advise_number(finding, "instantiated", advise_mean(advise, making->made));
    advise_number(finding, "updated", advise_mean(advise, making->updated));
    advise_number(finding, "captured_calls", advise_mean(advise, making->captured));
    advise_number(finding, "calls", advise_mean(advise, making->calls.count));
    advise_number(finding, "calls_ns", advise_mean(advise, making->calls.time));
    advise_number(finding, "host_ns", advise_mean(advise, making->host));
    advise_tally_lines(advise, &making->calls.tally, finding);
}

static enum mp_status judge_graphs(struct making *making, struct advise_finding *finding)
{
    const struct advise *advise = making->advise;
    struct advise_call call;

    if (!advise_has_call(advise, ADVISE_CALL_INSTANTIATES) &&
        !advise_has_call(advise, ADVISE_CALL_UPDATES))
        return MP_OK;
    for (uint32_t i = 0; i < advise->deps->thread_count; i++) {
        const struct deps_lane *lane = &advise->deps->lanes[i];

        making->step = DEPS_NONE;
        for (uint32_t at = lane->first; advise_next_call(advise, lane, &at, &call);)
            visit(making, lane, &call);
    }
    if (!making->made && !making->updated)
        return MP_OK;
    MP_TRY(advise_replay(making->advise, &finding->gain));
    tell_graphs(making, finding);
    return MP_OK;
}

enum mp_status advise_graph_instantiation(struct advise *advise, struct advise_finding *finding)
{
    struct making making = {.advise = advise, .first = DEPS_NONE};
    enum mp_status status = advise_calls_init(&making.calls, advise->deps);

    if (!status)
        status = judge_graphs(&making, finding);
    advise_tally_free(&making.calls.tally);
    return status;
}
