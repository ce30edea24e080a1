/* The order of calls by which CUPTI's kinds go on and off. The order matters, so this file
 * has all of it: attributes before kinds, the clock before both, and some kinds never off
 * (quirks.def).
 */
#include "record/cupti/activity.h"

#include "base/log.h"
#include "base/settings/config.h"
#include "record/core/clock.h"
#include "record/cupti/cupti_api.h"
#include "record/cupti/gpu.h"
#include "record/cupti/layout.h"
#include "record/cupti/subscriber.h"
#include "record/nvtx/nvtx.h"

#include "base/poison.h"

/* CUpti_ActivityAttribute and CUpti_ActivityThreadIdType; by number, as older headers lack some. */
#define ATTRIBUTE_ZEROED_BUFFERS     5
#define ATTRIBUTE_PER_THREAD_BUFFERS 9
#define DEVICE_BUFFER_MB             4 /* GPU memory that one buffer takes, as seen */
#define THREAD_ID_SYSTEM             1

/* Of the buffer callbacks, which CUPTI gives no argument of ours. Written before they are
 * registered. */
static struct gpu *buffers_of;

static void CUPTIAPI on_buffer_requested(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
    struct gpu *gpu = buffers_of;

    *max_records = 0;
    if (core_phase(&gpu->core) != PHASE_INERT) {
        *buffer = buffer_request(&gpu->pool, bytes);
        return;
    }
    *buffer = gpu->pool.spare;
    *bytes = gpu->pool.spare ? SPARE_BYTES : 0;
}

/* Runs on the thread that completes the buffer, when the writer does not keep up. */
static void discard(struct gpu *gpu, uint8_t *buffer, size_t valid_bytes)
{
    CUpti_Activity *record = NULL;
    uint64_t count = 0;

    while (cupti_next(&gpu->cupti, buffer, valid_bytes, &record))
        count++;
    buffer_discard(&gpu->pool, buffer, count);
}

static void CUPTIAPI on_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                         size_t bytes, size_t valid_bytes)
{
    struct gpu *gpu = buffers_of;

    (void)context;
    (void)stream;
    (void)bytes;
    /* A buffer that is not ours: a client that had CUPTI before gave it to CUPTI (clients.h). */
    if (!buffer || core_phase(&gpu->core) == PHASE_INERT ||
        buffer_is_spare(&gpu->pool, buffer, valid_bytes))
        return;
    if (!buffer_returns(&gpu->pool, buffer)) {
        if (valid_bytes)
            atomic_store(&gpu->clients.foreign, true);
        return;
    }
    if (buffer_is_too_much(&gpu->pool, buffer)) {
        discard(gpu, buffer, valid_bytes);
        return;
    }
    work_put(&gpu->core.work,
             &(struct work){.kind = WORK_BUFFER, .data = buffer, .bytes = valid_bytes});
}

static void set_attribute(struct gpu *gpu, int attribute, const char *name, void *value,
                          size_t size)
{
    CUptiResult result = gpu->cupti.set_attribute((CUpti_ActivityAttribute)attribute, &size, value);

    if (result != CUPTI_SUCCESS)
        mp_log_debug("CUPTI refuses the attribute %s: %s", name,
                     cupti_result_text(&gpu->cupti, result));
}

static void set_flag(struct gpu *gpu, int attribute, const char *name, uint8_t value)
{
    set_attribute(gpu, attribute, name, &value, sizeof(value));
}

/* CUPTI's own limit is 250 buffers: a GiB for each context whose records it cannot keep up with. */
static void limit_device_buffers(struct gpu *gpu)
{
    size_t max = gpu->core.config.gpu_buffer_mb / DEVICE_BUFFER_MB;

    set_attribute(gpu, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, "DEVICE_BUFFER_POOL_LIMIT",
                  &max, sizeof(max));
}

/* CUPTI need not zero our buffers: they are zeroed already. Only while we seem to have the
 * callbacks: another client's buffers are not zeroed. */
static void promise_zeroes(struct gpu *gpu, bool promised)
{
    set_flag(gpu, ATTRIBUTE_ZEROED_BUFFERS, "ZEROED_OUT_ACTIVITY_BUFFER", promised);
}

/* The present value of PER_THREAD_ACTIVITY_BUFFER; -1 where CUPTI does not tell. */
static int per_thread_buffers(struct gpu *gpu)
{
    uint8_t value = 0;
    size_t size = sizeof(value);

    if (!gpu->cupti.get_attribute ||
        gpu->cupti.get_attribute((CUpti_ActivityAttribute)ATTRIBUTE_PER_THREAD_BUFFERS, &size,
                                 &value) != CUPTI_SUCCESS)
        return -1;
    return value != 0;
}

bool activity_other_has_left(struct gpu *gpu)
{
    return gpu->cupti_state.buffers_readable && per_thread_buffers(gpu) == 0;
}

/* CUPTI must know before CUDA is initialised, and may reserve 16 MB on the device for this
 * (DEVICE_BUFFER_SIZE_DEVICE_GRAPHS). At node level it delivers no records. If a program has such
 * graphs, the reports say what is missing (graphs.h). */
static void ask_for_device_graphs(struct gpu *gpu)
{
    struct cupti_api *cupti = &gpu->cupti;

    if (gpu->core.config.device_graphs != MP_SWITCH_ON || gpu->core.config.gpu != MP_SWITCH_ON ||
        gpu->core.config.cuda_graph != MP_CUDA_GRAPH_GRAPH || gpu->attach.when != MP_ATTACH_INIT)
        return;
    if (!cupti->enable_device_graph) {
        mp_log_debug("CUPTI does not report graphs that the device launches");
        return;
    }
    CUptiResult result = cupti->enable_device_graph(1);
    if (result != CUPTI_SUCCESS)
        mp_log_info("graphs that the device launches are not recorded: %s",
                    cupti_result_text(cupti, result));
}

enum mp_status activity_prepare(struct gpu *gpu, struct mp_error *error)
{
    struct cupti_api *cupti = &gpu->cupti;
    CUptiResult result = cupti->register_clock(mp_clock_now);

    if (result != CUPTI_SUCCESS)
        return mp_error_set(error, MP_ERR_UNSUPPORTED, "CUPTI refuses the clock callback: %s",
                            cupti_result_text(cupti, result));
    if (cupti->set_thread_id_type && cupti->set_thread_id_type(THREAD_ID_SYSTEM) != CUPTI_SUCCESS)
        mp_log_debug("CUPTI does not give system thread ids");
    clock_renewal_given(&gpu->clock_renewal, mp_clock_now());
    ask_for_device_graphs(gpu);
    limit_device_buffers(gpu);
    if (cupti->version >= MP_CUPTI_SINCE_THREAD_BUFFERS) {
        set_flag(gpu, ATTRIBUTE_PER_THREAD_BUFFERS, "PER_THREAD_ACTIVITY_BUFFER", 1);
        gpu->cupti_state.buffers_readable = per_thread_buffers(gpu) == 1;
    }
    buffers_of = gpu;
    result = cupti->register_callbacks(on_buffer_requested, on_buffer_completed);
    if (result != CUPTI_SUCCESS)
        return mp_error_set(error, MP_ERR_UNSUPPORTED, "CUPTI refuses the buffer callbacks: %s",
                            cupti_result_text(cupti, result));
    return MP_OK;
}

void activity_forget_drops(struct gpu *gpu)
{
    size_t dropped;

    gpu->cupti.dropped_records(NULL, 0, &dropped);
    atomic_store(&gpu->flusher.dropped_between, 0);
}

void activity_claim_drops(struct gpu *gpu)
{
    struct flusher *flusher = &gpu->flusher;

    atomic_fetch_add(&flusher->dropped, atomic_exchange(&flusher->dropped_between, 0));
}

static void enable_kind(struct gpu *gpu, CUpti_ActivityKind kind, const char *what)
{
    CUptiResult result = gpu->cupti.enable(kind);

    if (result != CUPTI_SUCCESS)
        mp_log_warn("%s are not recorded: %s", what, cupti_result_text(&gpu->cupti, result));
}

void activity_enable_base(struct gpu *gpu, bool late)
{
    static const struct {
        CUpti_ActivityKind kind;
        const char *what;
    } kinds[] = {{CUPTI_ACTIVITY_KIND_DEVICE, "devices"},
                 {CUPTI_ACTIVITY_KIND_CONTEXT, "contexts"},
                 {CUPTI_ACTIVITY_KIND_STREAM, "streams"}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!late || !gpu->cupti.enable_and_dump ||
            gpu->cupti.enable_and_dump(kinds[i].kind) != CUPTI_SUCCESS)
            enable_kind(gpu, kinds[i].kind, kinds[i].what);
    if (gpu->core.config.cuda_graph == MP_CUDA_GRAPH_GRAPH && gpu->core.config.gpu == MP_SWITCH_ON)
        enable_kind(gpu, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, "CUDA graphs");
}

/* ---- API calls ---- */

/* Switches the rows of `call` on or off. In the mode `range` the recording begins late. If API
 * records are enabled by cbid inside the callback of cuProfilerStart, or by another thread at that
 * time, they never come (late_api_records in quirks.def). So in that mode callbacks at entry and
 * exit make the rows. */
static void enable_calls(struct gpu *gpu, bool on)
{
    if (atomic_load(&gpu->cupti_state.calls_by_callback)) {
        subscriber_watch_calls(gpu, on);
        return;
    }
    CUptiResult result = api_set_enable(&gpu->api, &gpu->cupti, on);
    if (result != CUPTI_SUCCESS)
        mp_log_warn("some API calls are not recorded: %s", cupti_result_text(&gpu->cupti, result));
}

/* ---- Unified memory ---- */

/* CUPTI refuses where the device or the system does not page managed memory. A program without
 * managed memory does not care, so this is a line at level info. */
static bool is_refused(struct gpu *gpu, const char *what, CUptiResult result)
{
    if (result != CUPTI_SUCCESS)
        mp_log_info("unified memory is not recorded: %s: %s", what,
                    cupti_result_text(&gpu->cupti, result));
    return result != CUPTI_SUCCESS;
}

/* Scope and device are left over from CUDA 6: one device or all devices makes no difference. */
static CUptiResult configure_counters(const struct cupti_api *cupti)
{
    CUpti_ActivityUnifiedMemoryCounterConfig counters[MP_unified_kind_bytes_DtoD];

    for (uint32_t kind = MP_unified_kind_bytes_HtoD; kind <= MP_unified_kind_bytes_DtoD; kind++)
        counters[kind - 1] = (CUpti_ActivityUnifiedMemoryCounterConfig){
            .scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES,
            .kind = (CUpti_ActivityUnifiedMemoryCounterKind)kind,
            .enable = 1,
        };
    return cupti->configure_unified_memory(counters, MP_unified_kind_bytes_DtoD);
}

static void enable_unified(struct gpu *gpu)
{
    is_refused(gpu, "cuptiActivityEnable",
               gpu->cupti.enable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER));
}

void activity_configure_unified(struct gpu *gpu)
{
    if (gpu->core.config.unified_memory != MP_SWITCH_ON || !core_is_recording(&gpu->core) ||
        !gpu->cupti.configure_unified_memory || atomic_load(&gpu->cupti_state.unified_ready) ||
        is_refused(gpu, "cuptiActivityConfigureUnifiedMemoryCounter",
                   configure_counters(&gpu->cupti)))
        return;
    atomic_store(&gpu->cupti_state.unified_ready, true);
    if (atomic_load(&gpu->core.enabled))
        enable_unified(gpu);
}

/* ---- Copies between devices ---- */

/* They need a context on each. See `peer_copies` in quirks.def. */
static bool peer_copies_are_wanted(struct gpu *gpu)
{
    return gpu->core.config.gpu == MP_SWITCH_ON && atomic_load(&gpu->cuda.several_contexts);
}

static void enable_peer_copies(struct gpu *gpu)
{
    if (peer_copies_are_wanted(gpu))
        enable_kind(gpu, CUPTI_ACTIVITY_KIND_MEMCPY2, "peer to peer copies");
}

void activity_expect_peer_copies(struct gpu *gpu)
{
    if (atomic_load(&gpu->core.enabled))
        enable_peer_copies(gpu);
}

/* ---- Everything else ---- */

static const struct work_kind_row {
    CUpti_ActivityKind kind;
    const char *what;
    size_t setting; /* the switch in struct mp_config that has to be on */
    uint32_t since; /* the version of CUPTI that has the kind */
} work_kinds[] = {
    {CUPTI_ACTIVITY_KIND_MEMCPY, "copies", offsetof(struct mp_config, gpu), 0},
    {CUPTI_ACTIVITY_KIND_MEMSET, "memory sets", offsetof(struct mp_config, gpu), 0},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, "overheads", offsetof(struct mp_config, gpu), 0},
    {(CUpti_ActivityKind)MP_CUPTI_KIND_JIT, "compilations", offsetof(struct mp_config, gpu),
     MP_CUPTI_SINCE_JIT},
    /* Costs 1.3 us for each pair of malloc and free. */
    {CUPTI_ACTIVITY_KIND_MEMORY2, "allocations", offsetof(struct mp_config, memory), 0},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, "memory pools", offsetof(struct mp_config, memory), 0},
};

#define WORK_KIND_COUNT (sizeof(work_kinds) / sizeof(work_kinds[0]))

static bool activity_is_wanted(const struct gpu *gpu, const struct work_kind_row *row)
{
    const uint32_t *setting = (const void *)((const char *)&gpu->core.config + row->setting);

    return *setting == MP_SWITCH_ON && gpu->cupti.version >= row->since;
}

/* KERNEL makes CUPTI run one kernel after the other. */
static CUpti_ActivityKind kernel_kind(const struct gpu *gpu)
{
    return gpu->core.config.concurrent_kernels == MP_SWITCH_ON
               ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
               : CUPTI_ACTIVITY_KIND_KERNEL;
}

/* A refusal is no loss that a user could do something about. */
static void switch_host_functions(struct gpu *gpu, bool on)
{
    CUptiResult (*how)(CUpti_ActivityKind kind) = on ? gpu->cupti.enable : gpu->cupti.disable;

    if (!host_functions_by_cupti(gpu))
        return;
    CUptiResult result = how((CUpti_ActivityKind)MP_CUPTI_KIND_HOST_LAUNCH);
    if (result == CUPTI_SUCCESS && gpu->core.config.cuda_graph != MP_CUDA_GRAPH_GRAPH)
        result = how((CUpti_ActivityKind)MP_CUPTI_KIND_GRAPH_HOST_NODE);
    if (result != CUPTI_SUCCESS)
        mp_log_debug("host functions are not recorded: %s", cupti_result_text(&gpu->cupti, result));
}

static void enable_records(struct gpu *gpu)
{
    promise_zeroes(gpu, true);
    if (gpu->core.config.gpu == MP_SWITCH_ON)
        enable_kind(gpu, kernel_kind(gpu), "kernels");
    for (size_t i = 0; i < WORK_KIND_COUNT; i++)
        if (activity_is_wanted(gpu, &work_kinds[i]))
            enable_kind(gpu, work_kinds[i].kind, work_kinds[i].what);
    enable_peer_copies(gpu);
    switch_host_functions(gpu, true);
    if (atomic_load(&gpu->cupti_state.unified_ready))
        enable_unified(gpu);
    enable_calls(gpu, true);
}

/* Nobody tells how much of such a buffer holds records. Zeroes follow the last one. */
void activity_recover(struct gpu *gpu)
{
    uint8_t *buffer;
    size_t bytes;

    while ((buffer = buffer_pool_recover(&gpu->pool, &bytes)) != NULL)
        work_put(&gpu->core.work,
                 &(struct work){.kind = WORK_BUFFER, .data = buffer, .bytes = bytes});
}

/* The kinds of "always" have stayed on: no known client switches them off. */
static void register_again(struct gpu *gpu)
{
    struct mp_error error;

    atomic_store(&gpu->cupti_state.answers_before, clients_answers(gpu));
    atomic_store(&gpu->cupti_state.registered_at, mp_clock_now());
    activity_recover(gpu);
    activity_forget_drops(gpu);
    if (activity_prepare(gpu, &error) != MP_OK)
        mp_log_warn("%s: nothing more is recorded", error.text);
    else if (atomic_load(&gpu->cupti_state.callbacks_taken))
        gpu->cupti.flush_all(0); /* another's buffers, which no record of ours may get into */
}

void activity_follow_calls(struct gpu *gpu)
{
    promise_zeroes(gpu, false);
    if (atomic_load(&gpu->cupti_state.calls_by_callback) ||
        atomic_load(&gpu->cupti_state.callbacks_taken))
        return;
    atomic_store(&gpu->cupti_state.calls_end, mp_clock_now());
    atomic_store(&gpu->cupti_state.calls_by_callback, true);
    if (atomic_load(&gpu->core.enabled))
        subscriber_watch_calls(gpu, true);
}

void activity_enable_again(struct gpu *gpu)
{
    activity_follow_calls(gpu);
    register_again(gpu);
    if (atomic_load(&gpu->core.enabled))
        enable_records(gpu);
}

void activity_give_clock(struct gpu *gpu)
{
    if (!atomic_load(&gpu->core.enabled) || !flusher_may_flush(gpu))
        return;
    gpu->cupti.flush_all(0);
    CUptiResult result = gpu->cupti.register_clock(mp_clock_now);
    if (result == CUPTI_SUCCESS) {
        clock_renewal_done(&gpu->clock_renewal);
        atomic_fetch_add(&gpu->cupti_state.clocks, 1);
    } else {
        mp_log_debug("CUPTI refuses to register the clock again: %s",
                     cupti_result_text(&gpu->cupti, result));
    }
}

void activity_enable(struct gpu *gpu, bool again)
{
    if (atomic_exchange(&gpu->core.enabled, true))
        return;
    if (again)
        register_again(gpu);
    activity_claim_drops(gpu);
    atomic_store(&gpu->cupti_state.answers_then, clients_answers(gpu));
    atomic_store(&gpu->cupti_state.left_on, false);
    if (again)
        atomic_store(&gpu->cupti_state.renewed_at, mp_clock_now());
    enable_records(gpu);
    subscriber_watch_syncs(gpu, true);
}

static void disable_records(struct gpu *gpu)
{
    if (atomic_load(&gpu->cupti_state.callbacks_taken))
        enable_calls(gpu, false);
    switch_host_functions(gpu, false);
    if (atomic_load(&gpu->cupti_state.unified_ready))
        gpu->cupti.disable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
    if (gpu->core.config.gpu == MP_SWITCH_ON &&
        (!quirk_is_in(QUIRK_disable_deadlock, gpu->cupti.version) ||
         atomic_load(&gpu->core.paused))) /* baseline.h keeps launches of graphs away */
        gpu->cupti.disable(kernel_kind(gpu));
    for (size_t i = 0; i < WORK_KIND_COUNT; i++)
        if (activity_is_wanted(gpu, &work_kinds[i]))
            gpu->cupti.disable(work_kinds[i].kind);
    if (peer_copies_are_wanted(gpu))
        gpu->cupti.disable(CUPTI_ACTIVITY_KIND_MEMCPY2);
}

void activity_disable(struct gpu *gpu, bool taken)
{
    if (!atomic_exchange(&gpu->core.enabled, false))
        return;
    subscriber_watch_syncs(gpu, false);
    if (!atomic_load(&gpu->cupti_state.callbacks_taken))
        enable_calls(gpu, false);
    promise_zeroes(gpu, false);
    if (taken || clients_answers(gpu) == atomic_load(&gpu->cupti_state.answers_then))
        atomic_store(&gpu->cupti_state.left_on, true);
    else
        disable_records(gpu);
}

void activity_drop(struct gpu *gpu)
{
    if (!atomic_load(&gpu->core.enabled) && atomic_exchange(&gpu->cupti_state.left_on, false))
        disable_records(gpu);
}

void activity_retire(struct gpu *gpu)
{
    mp_nvtx_set_recording(false);
    if (!attach_is_done(gpu))
        return;
    if (gpu->core.config.cuda_graph == MP_CUDA_GRAPH_GRAPH && gpu->core.config.gpu == MP_SWITCH_ON)
        gpu->cupti.disable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    subscriber_watch_ends(gpu);
}

/* ---- When the clock is registered again ----
 *
 * CUPTI gets slower with every second since the last registration; registering it loses the times
 * of work that runs at that moment.
 */

void clock_renewal_given(struct clock_renewal *clock_renewal, uint64_t now)
{
    atomic_store(&clock_renewal->since, now);
}

void clock_renewal_done(struct clock_renewal *clock_renewal)
{
    atomic_store(&clock_renewal->since, atomic_load(&clock_renewal->asked));
}

void clock_renewal_restart(struct clock_renewal *clock_renewal, uint64_t work)
{
    clock_renewal->begun = work;
    clock_renewal->work = work;
    clock_renewal->counted = 0;
}

/* Whether the records per second since the last count (in the device's time), times `age`, reach
 * CLOCK_RENEWAL_RECORDS. */
static bool is_heavy(struct clock_renewal *clock_renewal, uint64_t age, uint64_t work, uint64_t end)
{
    double passed = end > clock_renewal->counted ? (double)(end - clock_renewal->counted) : 0;
    double came = (double)(work - clock_renewal->work);
    bool known = clock_renewal->counted != 0;

    if (known && passed < (double)mp_time_limit_ns(MP_TIME_CLOCK_PACE))
        return false;
    clock_renewal->counted = end;
    clock_renewal->work = work;
    return known && came / passed * (double)age >= CLOCK_RENEWAL_RECORDS;
}

static bool is_worth_it(struct clock_renewal *clock_renewal, uint64_t age, uint64_t work,
                        uint64_t end, bool quiet)
{
    bool heavy = is_heavy(clock_renewal, age, work, end);

    if (work == clock_renewal->begun || age < mp_time_limit_ns(MP_TIME_CLOCK_MIN_AGE))
        return false;
    return heavy || age >= mp_time_limit_ns(MP_TIME_CLOCK_MAX_AGE) ||
           (quiet && age >= mp_time_limit_ns(MP_TIME_CLOCK_QUIET_AGE));
}

bool clock_renewal_ask(struct clock_renewal *clock_renewal, uint64_t now)
{
    if (now < atomic_load(&clock_renewal->asked) + mp_time_limit_ns(MP_TIME_CLOCK_MIN_AGE))
        return false;
    atomic_store(&clock_renewal->asked, now);
    return true;
}

bool clock_renewal_is_due(struct clock_renewal *clock_renewal, uint64_t now, uint64_t work,
                          uint64_t end, bool answered)
{
    uint64_t since = atomic_load(&clock_renewal->since);
    bool quiet = answered && work == clock_renewal->seen;

    clock_renewal->seen = work;
    if (end > now)
        now = end;
    return since && now > since && is_worth_it(clock_renewal, now - since, work, end, quiet) &&
           clock_renewal_ask(clock_renewal, now);
}

bool clock_renewal_is_old(const struct clock_renewal *clock_renewal, uint64_t now)
{
    uint64_t since = atomic_load(&clock_renewal->since);

    return since && now > since && now - since >= mp_time_limit_ns(MP_TIME_CLOCK_QUIET_AGE);
}
