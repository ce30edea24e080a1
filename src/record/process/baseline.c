/* Blocks of steps, recorded and not, in alternation: when one is long enough, and how the recording
 * is paused between them.
 */
#include "record/process/baseline.h"

#include <time.h>

#include "base/log.h"
#include "base/settings/config.h"
#include "base/settings/forms.h"
#include "base/text/strings.h"
#include "record/core/clock.h"
#include "record/cupti/cupti_api.h"
#include "record/cupti/sync_calls.h"
#include "record/nvtx/watch.h"
#include "record/process/recorder.h"

#include "base/poison.h"

/* ---- When a block of steps is long enough: by its length, and by the share of all steps ---- */

enum block_way blocks_choose(const uint64_t counts[BLOCK_WAYS], const bool alive[BLOCK_WAYS],
                             uint64_t passed)
{
    for (unsigned way = 0; way < BLOCK_WAYS && passed >= mp_time_limit_ns(MP_TIME_BLOCK); way++) {
        if (counts[way] >= BLOCK_CHOICE_STEPS)
            return (enum block_way)way;
        if (alive[way] && passed < mp_time_limit_ns(MP_TIME_BLOCK_CHOICE))
            break;
    }
    return BLOCK_WAYS;
}

void blocks_begin(struct blocks *blocks, bool bare, uint64_t now)
{
    blocks->bare = bare;
    blocks->since = now;
    blocks->steps = 0;
}

/* Whether, of `more` further steps that are not recorded, all belong to the share. */
static bool fits(const struct blocks *blocks, uint64_t more)
{
    return 100 * (blocks->without + more) <= blocks->share * (blocks->all + more);
}

bool blocks_step(struct blocks *blocks, uint64_t now)
{
    blocks->all++;
    blocks->without += blocks->bare;
    blocks->steps++;
    if (blocks->steps < BLOCK_STEPS || now < blocks->since + mp_time_limit_ns(MP_TIME_BLOCK))
        return false;
    return blocks->bare ? !fits(blocks, 1) : fits(blocks, BLOCK_STEPS);
}

/* ---- Steps ---- */

static const char *const plain_names[BLOCK_WAYS] = {
    [BLOCK_GRAPH] = "CUDA graph launch",
    [BLOCK_SYNC] = "synchronisation",
};

/* ---- Steps ---- */

/* The number of the name; the last one stands for all that found no room. */
static uint32_t number_of(struct baseline *baseline, const char *name)
{
    uint32_t at;

    for (at = 0; at < baseline->name_count; at++)
        if (mp_text_equal(baseline->names[at], name))
            return at;
    if (at == BASELINE_NAMES)
        return BASELINE_NAMES - 1;
    mp_text_copy(baseline->names[at], STEP_NAME_BYTES,
                 at == BASELINE_NAMES - 1 ? "other steps" : name);
    baseline->name_count++;
    return at;
}

/* Whether steps of this kind are those of the calling thread. The first that comes gets them. */
static bool is_mine(struct step_way *way, uint32_t tid)
{
    uint32_t owner = 0;

    atomic_store_explicit(&way->alive, true, memory_order_relaxed);
    return atomic_compare_exchange_strong(&way->tid, &owner, tid) || owner == tid;
}

static void choose(struct baseline *baseline, uint64_t now)
{
    uint64_t counts[BLOCK_WAYS];
    bool alive[BLOCK_WAYS];
    uint64_t first = 0;
    unsigned i;
    int open = 0;

    if (atomic_compare_exchange_strong(&baseline->first, &first, now))
        first = now;
    for (i = 0; i < BLOCK_WAYS; i++) {
        counts[i] = atomic_load(&baseline->ways[i].count);
        alive[i] = atomic_load(&baseline->ways[i].alive);
    }
    i = blocks_choose(counts, alive, now > first ? now - first : 0);
    if (i < BLOCK_WAYS)
        atomic_compare_exchange_strong(&baseline->chosen, &open, (int)i + 1);
}

static void tell(struct recorder *recorder, struct call_log *log, const struct step_way *way,
                 uint64_t end)
{
    const struct call_entry entry = {
        .kind = CALL_ENTRY_STEP,
        .start = way->since,
        .end = end,
        .event = way->name,
        .detail = !recorder->baseline.blocks.bare,
    };

    if (call_log_put(log, &entry))
        work_wake(&recorder->gpu.core.work);
}

/* The step of the way has ended, on its thread. */
static void end_step(struct recorder *recorder, struct call_log *log, enum block_way kind,
                     uint64_t now)
{
    struct baseline *baseline = &recorder->baseline;
    struct step_way *way = &baseline->ways[kind];
    int chosen = atomic_load(&baseline->chosen);
    bool bare = core_is_paused(&recorder->gpu.core);
    uint64_t number;
    bool over;

    if (!way->since || !range_is_open(recorder, &number, &over))
        return;
    if (!chosen) {
        atomic_fetch_add(&way->count, 1);
        choose(baseline, now);
        return;
    }
    if (chosen != (int)kind + 1)
        return;
    if (bare != baseline->blocks.bare || !baseline->blocks.since)
        blocks_begin(&baseline->blocks, bare, now); /* the user has begun another range */
    baseline->due = blocks_step(&baseline->blocks, now);
    atomic_store(&baseline->steps, baseline->blocks.all);
    atomic_store(&baseline->without, baseline->blocks.without);
    if (baseline->skip)
        baseline->skip--;
    else
        tell(recorder, log, way, now);
}

/* ---- Work in flight ---- */

/* Whether nothing runs or waits on the GPU. */
static bool is_idle(struct recorder *recorder)
{
    return contexts_count(&recorder->gpu.cuda.contexts) == 1 &&
           contexts_current_becomes_idle(&recorder->gpu, 0);
}

/* ---- The gate ---- */

static void nap(void)
{
    const struct timespec pause = mp_time_limit_timespec(MP_TIME_GATE_LOOK);

    nanosleep(&pause, NULL);
}

static void enter_launch(struct baseline *baseline, struct call_log *log)
{
    uint64_t tries = mp_time_limit_ns(MP_TIME_GATE) / mp_time_limit_ns(MP_TIME_GATE_LOOK);

    atomic_fetch_add(&baseline->launching, 1);
    for (; atomic_load(&baseline->gate) && tries; tries--) {
        atomic_fetch_sub(&baseline->launching, 1);
        nap();
        atomic_fetch_add(&baseline->launching, 1);
    }
    log->in_graph_launch = true;
}

static void leave_launch(struct baseline *baseline, struct call_log *log)
{
    if (log->in_graph_launch)
        atomic_fetch_sub(&baseline->launching, 1);
    log->in_graph_launch = false;
}

/* ---- Switching ---- */

/* False if it could not. */
static bool switch_over(struct recorder *recorder)
{
    struct baseline *baseline = &recorder->baseline;
    bool done = false;

    atomic_store(&baseline->gate, true);
    if (!atomic_load(&baseline->launching))
        done = baseline->blocks.bare ? range_resume(recorder)
                                     : range_pause(recorder, &baseline->given_up);
    atomic_store(&baseline->gate, false);
    return done;
}

/* Why nothing can be switched; NULL if it can. CUPTI 13.0 hangs there for a cause that is not
 * known, so that the gate may not help. */
static const char *why_not(const struct recorder *recorder)
{
    if (recorder->gpu.cupti.version >= 130000 &&
        quirk_is_in(QUIRK_disable_deadlock, recorder->gpu.cupti.version))
        return "CUPTI of CUDA 13.0 hangs when kernels are switched off; take that of 13.0 Update 1 "
               "or later (MINIPROF_CUPTI)";
    return contexts_can_be_watched(&recorder->gpu.driver)
               ? NULL
               : "it needs a driver of CUDA 12.5 or later (cuCtxRecordEvent)";
}

static bool may_switch(struct recorder *recorder)
{
    struct baseline *baseline = &recorder->baseline;

    if (!baseline->due || baseline->given_up)
        return false;
    const char *reason = why_not(recorder);
    if (reason)
        mp_log_warn("MINIPROF_BASELINE has no effect: %s", reason);
    baseline->given_up = reason != NULL;
    return !reason;
}

/* Switches if a block is long enough, on the thread that makes the steps. `within`: a step is in
 * progress. */
static void try_switch(struct recorder *recorder, bool within)
{
    struct baseline *baseline = &recorder->baseline;

    if (!may_switch(recorder) || !is_idle(recorder) || !switch_over(recorder))
        return;
    if (baseline->given_up)
        range_resume(recorder); /* what is recorded now is complete later, or never */
    baseline->due = false;
    baseline->skip = within ? 2 : 1;
    blocks_begin(&baseline->blocks, core_is_paused(&recorder->gpu.core), mp_clock_now());
}

/* Whether the calling thread switches, since it makes the steps of the chosen kind. */
static bool switches(struct baseline *baseline, uint32_t tid)
{
    int chosen = atomic_load(&baseline->chosen);

    return chosen && atomic_load(&baseline->ways[chosen - 1].tid) == tid;
}

/* ---- NVTX ---- */

static struct call_log *log_of(struct recorder *recorder)
{
    struct call_log *log =
        core_is_recording(&recorder->gpu.core) ? call_log_mine(&recorder->gpu.core.logs) : NULL;

    return log && !log->busy ? log : NULL;
}

static void nvtx_begins(void *context)
{
    struct recorder *recorder = context;
    struct step_way *way = &recorder->baseline.ways[BLOCK_NVTX];
    struct call_log *log = log_of(recorder);

    if (!log || !is_mine(way, log->tid) || way->depth++)
        return;
    way->since = mp_clock_now();
}

static void nvtx_lasted(void *context, uint64_t since, uint64_t until)
{
    struct recorder *recorder = context;
    struct baseline *baseline = &recorder->baseline;
    struct step_way *way = &baseline->ways[BLOCK_NVTX];
    struct call_log *log = log_of(recorder);

    (void)since;
    if (!log || !is_mine(way, log->tid) || !way->depth || --way->depth)
        return;
    if (atomic_load(&baseline->chosen) == BLOCK_NVTX + 1)
        way->name = number_of(baseline, nvtx_watch_heard());
    end_step(recorder, log, BLOCK_NVTX, until);
    way->since = 0;
    if (switches(baseline, log->tid))
        try_switch(recorder, false);
}

/* ---- Calls ---- */

/* From one moment of this kind to the next. */
static void pass(struct recorder *recorder, struct call_log *log, enum block_way kind)
{
    struct baseline *baseline = &recorder->baseline;
    struct step_way *way = &baseline->ways[kind];

    if (!is_mine(way, log->tid))
        return;
    uint64_t now = mp_clock_now();
    if (atomic_load(&baseline->chosen) == (int)kind + 1)
        way->name = number_of(baseline, plain_names[kind]);
    end_step(recorder, log, kind, now);
    way->since = now;
}

static void returned(struct recorder *recorder, struct call_log *log)
{
    struct baseline *baseline = &recorder->baseline;
    struct step_way *way = &baseline->ways[BLOCK_SYNC];

    pass(recorder, log, BLOCK_SYNC);
    if (!switches(baseline, log->tid))
        return;
    int chosen = atomic_load(&baseline->chosen) - 1;
    try_switch(recorder,
               chosen == BLOCK_GRAPH || (chosen == BLOCK_NVTX && baseline->ways[chosen].depth));
    if (atomic_load(&way->tid) == log->tid)
        way->since = mp_clock_now();
}

void baseline_call(struct recorder *recorder, const struct api_watch *watch,
                   const CUpti_CallbackData *data)
{
    struct baseline *baseline = &recorder->baseline;
    struct call_log *log = log_of(recorder);
    bool enters = data->callbackSite == CUPTI_API_ENTER;
    bool worked = !enters && cupti_call_result(data) == CUDA_SUCCESS;

    if (!log)
        return;
    if (watch->sync_kind != MP_sync_kind_graph_launch) {
        if (worked)
            returned(recorder, log);
    } else if (enters) {
        pass(recorder, log, BLOCK_GRAPH);
        enter_launch(baseline, log);
    } else {
        leave_launch(baseline, log);
    }
}

/* ---- Settings ---- */

/* What baseline blocks cannot go with; NULL: nothing of that is set. */
static const char *excluded_by(const struct mp_config *config)
{
    if (*config->schedule)
        return "MINIPROF_SCHEDULE";
    if (config->capture.choice == MP_CAPTURE_NVTX)
        return "MINIPROF_CAPTURE=nvtx:NAME; MINIPROF_STEP=NAME makes these ranges steps";
    if (*config->flight)
        return "MINIPROF_FLIGHT";
    return *config->metrics ? "MINIPROF_METRICS" : NULL;
}

void baseline_configure(struct recorder *recorder)
{
    struct mp_config *config = &recorder->gpu.core.config;
    struct baseline *baseline = &recorder->baseline;
    const char *other = excluded_by(config);

    if (!*config->baseline || config->query != MP_QUERY_OFF)
        return;
    if (other) {
        mp_log_warn("MINIPROF_BASELINE has no effect beside %s", other);
        return;
    }
    recorder->gpu.core.wanted.baseline = true;
    baseline->blocks.share = mp_share_percent(config->baseline);
    config->attach = MP_ATTACH_INIT; /* contexts that were made earlier may not be known */
    nvtx_watch_open(&(struct nvtx_watch_calls){
        .name = *config->step ? config->step : NULL,
        .begin = nvtx_begins,
        .lasted = nvtx_lasted,
        .context = recorder,
    });
}
