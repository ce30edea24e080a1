/* A recorder without CUDA: its callback is called as CUPTI would, and its range profiler is played
 * by functions that count. For the programs that include it, once each.
 *
 * A range has the value 10 in its first metric, the kernel's ns, and 100 + its number in all
 * others.
 */
#ifndef MP_RECORD_TEST_PROFILED_H
#define MP_RECORD_TEST_PROFILED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/text/strings.h"
#include "record/counters/plan.h"
#include "record/counters/profiling.h"
#include "record/cupti/subscriber.h"
#include "record/graphs/edges.h"
#include "record/process/lifecycle.h"
#include "record/process/recorder.h"

/* Driver functions by the numbers that the played CUPTI has for them. */
enum { LAUNCH = 1, GRAPH_LAUNCH, BEGIN_CAPTURE, END_CAPTURE, CBIDS };

enum { A_HOST, AN_OBJECT, A_CONTEXT, OTHER_CONTEXT, ADDRESSES };

static char addresses[ADDRESSES];

struct played {
    CUpti_CallbackFunc callback;
    void *userdata;
    _Atomic int started, starts, stops, enables, disables, devices_asked, forced, fails_to_stop;
    int launches; /* in the started range */
    double duration;
    unsigned passes;
    char said[4096];
};

static struct played played;
static struct recorder recorder;

/* ---- The played driver and CUPTI ---- */

static CUptiResult play_subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                                  void *userdata)
{
    (void)handle;
    played.callback = callback;
    played.userdata = userdata;
    return CUPTI_SUCCESS;
}

static CUptiResult play_stream_id(CUcontext context, CUstream stream, uint8_t per_thread,
                                  uint32_t *id)
{
    (void)context;
    (void)stream;
    *id = per_thread ? 8 : 7;
    return CUPTI_SUCCESS;
}

static CUptiResult play_flush(uint32_t flags)
{
    played.forced += flags == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
    return CUPTI_SUCCESS;
}

static CUresult play_get_device(CUdevice *device)
{
    played.devices_asked++;
    *device = 0;
    return CUDA_SUCCESS;
}

static CUresult play_synchronize(void)
{
    return CUDA_SUCCESS;
}

static CUptiResult play_support(struct profiler_support *p)
{
    p->supported = PROFILER_SUPPORTED;
    return CUPTI_SUCCESS;
}

static CUptiResult play_chip(struct profiler_chip *p)
{
    p->name = "GH100";
    return CUPTI_SUCCESS;
}

static CUptiResult play_availability(struct profiler_availability *p)
{
    p->image_bytes = 8;
    return CUPTI_SUCCESS;
}

static CUptiResult play_host_open(struct profiler_host_open *p)
{
    p->host = &addresses[A_HOST];
    return CUPTI_SUCCESS;
}

static CUptiResult play_host_close(struct profiler_host_close *p)
{
    (void)p;
    return CUPTI_SUCCESS;
}

static CUptiResult play_properties(struct profiler_properties *p)
{
    p->description = "made up";
    return CUPTI_SUCCESS;
}

static CUptiResult play_add(struct profiler_add *p)
{
    (void)p;
    return CUPTI_SUCCESS;
}

static CUptiResult play_config_size(struct profiler_config_size *p)
{
    p->bytes = 8;
    return CUPTI_SUCCESS;
}

static CUptiResult play_config(struct profiler_config *p)
{
    memset(p->image, 0, p->bytes);
    return CUPTI_SUCCESS;
}

static CUptiResult play_passes(struct profiler_passes *p)
{
    p->passes = played.passes;
    return CUPTI_SUCCESS;
}

static CUptiResult play_enable(struct profiler_enable *p)
{
    played.enables++;
    p->object = &addresses[AN_OBJECT];
    return CUPTI_SUCCESS;
}

static CUptiResult play_disable(struct profiler_object *p)
{
    (void)p;
    played.disables++;
    return CUPTI_SUCCESS;
}

static CUptiResult play_start(struct profiler_object *p)
{
    (void)p;
    assert_false(played.started);
    played.started = 1;
    played.starts++;
    played.launches = 0;
    return CUPTI_SUCCESS;
}

static CUptiResult play_stop(struct profiler_stop *p)
{
    (void)p;
    assert_true(played.started);
    played.started = 0;
    played.stops++;
    return played.fails_to_stop ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}

static CUptiResult play_decode(struct profiler_object *p)
{
    p->dropped = 0;
    return CUPTI_SUCCESS;
}

static CUptiResult play_counters_size(struct profiler_counters_size *p)
{
    p->bytes = 8;
    return CUPTI_SUCCESS;
}

static CUptiResult play_counters_open(struct profiler_counters *p)
{
    memset(p->counters, 0, p->bytes);
    return CUPTI_SUCCESS;
}

static CUptiResult play_set_config(struct profiler_set_config *p)
{
    (void)p;
    return CUPTI_SUCCESS;
}

static CUptiResult play_counters_info(struct profiler_counters_info *p)
{
    p->ranges = played.launches > 0;
    return CUPTI_SUCCESS;
}

static CUptiResult play_evaluate(struct profiler_evaluate *p)
{
    size_t i;

    for (i = 0; i < p->count; i++)
        p->values[i] = i ? 100 + played.starts : played.duration;
    return CUPTI_SUCCESS;
}

static const struct profiler_api played_api = {
    .support = play_support,
    .chip = play_chip,
    .availability = play_availability,
    .host_open = play_host_open,
    .host_close = play_host_close,
    .properties = play_properties,
    .add = play_add,
    .config_size = play_config_size,
    .config = play_config,
    .passes = play_passes,
    .enable = play_enable,
    .disable = play_disable,
    .start = play_start,
    .stop = play_stop,
    .decode = play_decode,
    .counters_size = play_counters_size,
    .counters_open = play_counters_open,
    .set_config = play_set_config,
    .counters_info = play_counters_info,
    .evaluate = play_evaluate,
    .cupti = &recorder.gpu.cupti,
};

/* ---- The recorder ---- */

static void keep_line(void *context, const char *line, size_t bytes)
{
    size_t used = strlen(played.said);

    (void)context;
    snprintf(played.said + used, sizeof(played.said) - used, "%.*s", (int)bytes, line);
}

static const struct mp_log_ops log_ops = {keep_line, NULL};

static void watch_function(uint32_t cbid, const char *name)
{
    uint8_t row = 0;

    while (!mp_text_equal(api_watches[row].name, name))
        row++;
    recorder.gpu.api.watch[cbid] = (uint8_t)(row + 1);
}

static void set_metrics(const char *kernels, const char *devices)
{
    snprintf(recorder.gpu.core.config.metrics, sizeof(recorder.gpu.core.config.metrics),
             "sm__made_up.sum");
    snprintf(recorder.gpu.core.config.kernels, sizeof(recorder.gpu.core.config.kernels), "%s",
             kernels);
    snprintf(recorder.gpu.core.config.devices, sizeof(recorder.gpu.core.config.devices), "%s",
             devices);
    profiling_open(&recorder.profiling, &recorder.gpu);
    recorder.profiling.api = played_api;
    recorder.profiling.api_open = true;
}

/* Recording, with MINIPROF_KERNELS and MINIPROF_DEVICES. */
static void recorder_set_up(const char *kernels, const char *devices)
{
    enum client_habit other;
    struct mp_error error;

    memset(&recorder, 0, sizeof(recorder));
    memset(&played, 0, sizeof(played));
    played.duration = 10;
    played.passes = 1;
    mp_log_set_ops(&log_ops);
    recorder.gpu.cupti.subscribe = play_subscribe;
    recorder.gpu.cupti.get_stream_id = play_stream_id;
    recorder.gpu.cupti.flush_all = play_flush;
    recorder.gpu.driver.get_device = play_get_device;
    recorder.gpu.driver.synchronize = play_synchronize;
    recorder.gpu.attach.calls = (struct attach_calls){callbacks_take, &recorder};
    recorder.output.fd = -1;
    watch_function(LAUNCH, "cuLaunchKernel");
    watch_function(GRAPH_LAUNCH, "cuGraphLaunch");
    watch_function(BEGIN_CAPTURE, "cuStreamBeginCapture");
    watch_function(END_CAPTURE, "cuStreamEndCapture");
    assert_int_equal(buffer_pool_open(&recorder.gpu.pool, 16, true), MP_OK);
    assert_int_equal(work_queue_open(&recorder.gpu.core.work, buffer_pool_max(&recorder.gpu.pool)),
                     MP_OK);
    assert_int_equal(call_logs_open(&recorder.gpu.core.logs), MP_OK);
    pthread_mutex_init(&recorder.gpu.cuda.contexts.lock, NULL);
    edges_open(&recorder.graphs.edges);
    set_metrics(kernels, devices);
    assert_int_equal(subscriber_open(&recorder.gpu, &other, &error), MP_OK);
    atomic_store(&recorder.gpu.core.enabled, true);
    atomic_store(&recorder.gpu.core.phase, PHASE_RECORDING);
}

static void drop_entry(void *context, uint32_t tid, const struct call_entry *entry)
{
    (void)context;
    (void)tid;
    (void)entry;
}

static void recorder_tear_down(void)
{
    struct profiling *profiling = &recorder.profiling;
    struct call_log *mine = pthread_getspecific(recorder.gpu.core.logs.key);

    while (profiling->sessions) {
        struct profiling_session *session = profiling->sessions;
        profiling->sessions = session->next;
        session_close(session);
    }
    metric_plan_free(profiling->plans[0]);
    kernel_filter_free(&profiling->filter);
    mp_intern_free(&profiling->kernels);
    free(profiling->launches);
    profiled_close(&recorder.profiling.profiled);
    edges_close(&recorder.graphs.edges);
    if (mine)
        atomic_store(&mine->ended, true);
    call_logs_drain(&recorder.gpu.core.logs, drop_entry, NULL);
    pthread_key_delete(recorder.gpu.core.logs.key);
    work_queue_close(&recorder.gpu.core.work);
    buffer_pool_close(&recorder.gpu.pool);
    mp_log_set_ops(NULL);
}

/* ---- The application ---- */

/* A driver call, which the test keeps from its ENTER to its EXIT. */
struct call {
    uint32_t cbid;
    uint64_t note;
    CUpti_CallbackData data;
    uintptr_t arguments[8];
    CUresult result;
};

static void call_back(struct call *call, CUpti_ApiCallbackSite site)
{
    call->data.callbackSite = site;
    call->data.correlationData = &call->note;
    call->data.functionParams = call->arguments;
    call->data.functionReturnValue = &call->result;
    call->data.contextUid = 1;
    if (!call->data.context)
        call->data.context = (CUcontext)(void *)&addresses[A_CONTEXT];
    played.callback(played.userdata, CUPTI_CB_DOMAIN_DRIVER_API, call->cbid, &call->data);
}

/* The kernel runs in the driver, that is between the two. */
static void enter(struct call *call, uint32_t cbid, const char *kernel)
{
    static _Atomic uint32_t correlation;

    *call = (struct call){.cbid = cbid, .result = CUDA_SUCCESS};
    call->data.symbolName = kernel;
    call->data.correlationId = ++correlation;
    call_back(call, CUPTI_API_ENTER);
    played.launches += cbid == LAUNCH;
}

static void leave(struct call *call)
{
    call_back(call, CUPTI_API_EXIT);
}

static void launch(const char *kernel)
{
    struct call call;

    enter(&call, LAUNCH, kernel);
    leave(&call);
}

#endif
