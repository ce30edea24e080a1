/* The entry points: setting up, step by step, and backing out where a step fails. A failure writes
 * one log line, leaves the recorder inert and answers success. It undoes what others could notice
 * (the subscription, the file). Memory that CUPTI may know of stays.
 */
#include "record/process/lifecycle.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process.h"
#include "base/settings/config.h"
#include "base/steps.h"
#include "base/text/strings.h"
#include "record/core/clock.h"
#include "record/core/thread.h"
#include "record/cupti/cupti_api.h"
#include "record/cupti/subscriber.h"
#include "record/graphs/graphs.h"
#include "record/nccl/plugin.h"
#include "record/nvtx/nvtx.h"
#include "record/process/ctl.h"
#include "record/process/flight.h"
#include "record/process/range.h"
#include "record/process/recorder.h"
#include "record/process/signals.h"

#include "base/poison.h"

/* ---- Forked children ----
 *
 * What a forked child does: it records nothing, and keeps nothing of its parent's. This file knows
 * all modules that must let something go, so it stands above them.
 */

/* The child has only the forking thread, cannot use CUDA, and its locks may be in any state. So it
 * calls nothing and frees nothing; it only closes the shared descriptors. If CUDA has not begun,
 * there are only NVTX events, and the child may begin CUDA itself. */
static void in_child(void)
{
    struct recorder *recorder = mp_recorder;

    if (core_phase(&recorder->gpu.core) == PHASE_IDLE) {
        mp_nvtx_child_begins_anew();
        return;
    }
    mp_nvtx_child_after_fork();
    waits_stop(&recorder->waits);
    signals_reset();
    gaps_reset(&recorder->stacks);
    crash_reset();
    if (core_phase(&recorder->gpu.core) != PHASE_INERT && output_is_open(&recorder->output))
        close(recorder->output.fd);
    if (core_phase(&recorder->gpu.core) != PHASE_INERT) {
        flight_file_close(&recorder->output);
        ctl_close(&recorder->ctl);
    }
    atomic_store(&recorder->gpu.core.phase, PHASE_INERT);
}

static void register_fork_handler(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

/* Registers the handler that runs in a forked child, once: NVTX may come before CUDA. */
static void fork_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, register_fork_handler);
}

/* ---- Entry points ---- */

/* ---- Settings ---- */

static void report_setting(void *context, const struct mp_error *error)
{
    (void)context;
    mp_log_warn("%s", error->text);
}

/* The recorded process that started this one; MINIPROF_CHILDREN=off then leaves this one
 * unrecorded. 0 for none. It may be a grandparent: there may be other processes between. A process
 * that execs another program stays recorded. */
static pid_t find_parent(const struct mp_config *config)
{
    const char *text = secure_getenv(MP_CONFIG_PARENT);
    uint64_t pid;

    if (config->children == MP_SWITCH_ON || !text || !mp_text_to_u64(text, 1, INT_MAX, &pid) ||
        (pid_t)pid == mp_process_id())
        return 0;
    mp_log_info("process %d, which started this one, is recorded, and MINIPROF_CHILDREN=off: "
                "nothing is recorded",
                (int)pid);
    return (pid_t)pid;
}

/* A program with more rights than its user has (setuid) must not write files for that user.
 * Settings are not read from its environment either. */
static bool is_privileged(void)
{
    if (!getauxval(AT_SECURE))
        return false;
    mp_log_warn("the program has raised privileges (setuid): nothing is recorded");
    return true;
}

/* If stderr is closed, the next file that the program opens gets the number 2; our messages must
 * not go there. */
static bool has_no_stderr(void)
{
    return fcntl(STDERR_FILENO, F_GETFD) < 0;
}

/* For NCCL's plugin: the device of the calling thread's context. */
static uint32_t current_device(void)
{
    CUdevice device;

    if (core_phase(&mp_recorder->gpu.core) < PHASE_RECORDING ||
        !mp_recorder->gpu.driver.get_device ||
        mp_recorder->gpu.driver.get_device(&device) != CUDA_SUCCESS || device < 0)
        return NCCL_UNKNOWN;
    return (uint32_t)device;
}

static void keep_launches(void)
{
    if (core_is_recording(&mp_recorder->gpu.core) && attach_is_done(&mp_recorder->gpu))
        subscriber_keep_overlaps(&mp_recorder->gpu);
}

static void read_settings(void)
{
    struct recorder *recorder = mp_recorder;
    struct mp_error error;

    /* Read twice, so that errors are reported at the level that MINIPROF_LOG asks for. */
    mp_config_from_environment(&recorder->gpu.core.config, NULL, NULL);
    mp_log_set_level(has_no_stderr() ? MP_LOG_NONE
                                     : mp_config_log_level(&recorder->gpu.core.config));
    mp_config_from_environment(&recorder->gpu.core.config, report_setting, NULL);
    mp_config_report_unknown(report_setting, NULL);
    if (mp_time_limits_read(&error) != MP_OK)
        report_setting(NULL, &error);
    recorder->gpu.core.wanted.nothing =
        is_privileged() || find_parent(&recorder->gpu.core.config) != 0;
    nccl_plugin_open(&(struct nccl_plugin_calls){
        .off = recorder->gpu.core.wanted.nothing || recorder->gpu.core.config.nccl != MP_NCCL_ON ||
               recorder->gpu.core.config.nvtx != MP_SWITCH_ON,
        .device = current_device,
        .first_comm = keep_launches});
    flight_configure(recorder);
    range_configure(recorder);
    baseline_configure(recorder);
    atomic_store(&recorder->gpu.cupti_state.calls_by_callback,
                 recorder->gpu.core.wanted.lazy || recorder->gpu.core.wanted.baseline);
    fork_watch();
}

static void settings_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_settings);
}

/* ---- Our own library ---- */

/* Whether NVTX's events are recorded, or its ranges are capture ranges or steps. */
static bool wants_nvtx(const struct recorder *recorder)
{
    return recorder->gpu.core.config.nvtx == MP_SWITCH_ON || recorder->ranges.by_nvtx ||
           recorder->flight.by_step || recorder->gpu.core.wanted.baseline;
}

/* Compares files, not paths, since the loader does so too. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat one;
    struct stat other;

    return mp_text_equal(a, b) || (stat(a, &one) == 0 && stat(b, &other) == 0 &&
                                   one.st_dev == other.st_dev && one.st_ino == other.st_ino);
}

/* Keeps this library loaded: callbacks, tables and handlers point into it for as long as the
 * process lives. */
static void settle_in(void)
{
    Dl_info self;

    if (dladdr((const void *)mp_recorder, &self) && self.dli_fname)
        dlopen(self.dli_fname, RTLD_NOLOAD | RTLD_NODELETE | RTLD_LAZY);
}

/* Sets a variable for who reads it later: NVTX, NCCL, other processes. */
static void set_variable(const char *name, const char *value, bool replace, const char *lost)
{
    if (setenv(name, value, replace) != 0)
        mp_log_warn("cannot set %s: %s: %s", name, strerror(errno), lost);
}

/* Sets the variable that NVTX reads, for instances whose first call comes later. */
static void offer_nvtx(const struct recorder *recorder)
{
    const char *present = getenv("NVTX_INJECTION64_PATH");
    Dl_info self;

    if (!wants_nvtx(recorder) || !dladdr((const void *)mp_recorder, &self) || !self.dli_fname)
        return;
    const char *passed_on = getenv(STEPS_NVTX); /* by the preloaded library */
    if (passed_on && is_same_file(passed_on, self.dli_fname))
        return;
    if (present && *present && !is_same_file(present, self.dli_fname))
        mp_log_warn(
            "NVTX_INJECTION64_PATH='%s' is left as it is: NVTX is not recorded (NVTX serves "
            "one tool: unset it)",
            present);
    else
        set_variable("NVTX_INJECTION64_PATH", self.dli_fname, false, "NVTX is not recorded");
}

/* Sets the variable that NCCL reads when it makes its first communicator. */
static void offer_nccl(const struct recorder *recorder)
{
    Dl_info self;

    if (recorder->gpu.core.config.nccl == MP_NCCL_ON &&
        recorder->gpu.core.config.nvtx == MP_SWITCH_ON &&
        dladdr((const void *)mp_recorder, &self) && self.dli_fname)
        set_variable("NCCL_PROFILER_PLUGIN", self.dli_fname, false,
                     "NCCL's operations are known by NVTX alone");
}

/* Sets the variable that find_parent reads in processes that this one starts. */
static void mark_children(const struct recorder *recorder)
{
    char text[16];

    if (recorder->gpu.core.config.children == MP_SWITCH_ON)
        return;
    snprintf(text, sizeof(text), "%d", (int)recorder->gpu.core.pid);
    set_variable(MP_CONFIG_PARENT, text, true, "its children are recorded too");
}

/* ---- Starting ---- */

static enum mp_status find_cupti(struct recorder *recorder, struct mp_error *error)
{
    driver_api_load(&recorder->gpu.driver);
    MP_TRY(cupti_api_load(&recorder->gpu.cupti, &recorder->gpu.driver,
                          recorder->gpu.core.config.cupti, error));
    mp_log_info("CUPTI %u from '%s', driver %d", recorder->gpu.cupti.version,
                recorder->gpu.cupti.path, recorder->gpu.driver.version);
    quirks_tell(recorder->gpu.cupti.version);
    api_set_resolve(&recorder->gpu.api, &recorder->gpu.cupti, &recorder->gpu.core.config);
    graphs_open(&recorder->gpu);
    host_functions_open(&recorder->gpu);
    return MP_OK;
}

static enum mp_status inject_make_room(struct recorder *recorder, struct mp_error *error)
{
    bool null_allowed = !quirk_is_in(QUIRK_no_null_buffer, recorder->gpu.cupti.version);

    if (buffer_pool_open(&recorder->gpu.pool, recorder->gpu.core.config.buffer_mb, null_allowed) !=
        MP_OK)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for MINIPROF_BUFFER_MB=%u",
                            recorder->gpu.core.config.buffer_mb);
    edges_open(&recorder->graphs.edges);
    host_nodes_open(&recorder->graphs.host_nodes);
    graphs_make_room(&recorder->graphs, &recorder->gpu);
    profiling_open(&recorder->profiling, &recorder->gpu);
    sampling_open(&recorder->sampling, &recorder->gpu);
    stacks_open(&recorder->stacks, &recorder->gpu.core);
    if (recorder->gpu.core.config.stacks != MP_STACKS_OFF)
        (void)overlaps_stay(&recorder->gpu.overlaps);
    gaps_open(&recorder->stacks, &recorder->gpu.core);
    if (work_queue_open(&recorder->gpu.core.work, buffer_pool_max(&recorder->gpu.pool)) != MP_OK ||
        call_logs_open(&recorder->gpu.core.logs) != MP_OK || lifecycle_open(recorder) != MP_OK)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory or descriptors to start");
    return MP_OK;
}

/* All signals are blocked, since the header may exceed RLIMIT_FSIZE. */
static enum mp_status open_file(struct recorder *recorder, struct mp_writer **writer,
                                struct mp_error *error)
{
    sigset_t before;

    thread_block_signals(&before);
    enum mp_status status = recorder->flight.on ? flight_open(recorder, writer, error)
                                                : output_open(recorder, writer, error);
    thread_restore_signals(&before);
    return status;
}

static void remove_file(struct recorder *recorder, struct mp_writer *writer)
{
    mp_writer_abandon(writer);
    output_remove(&recorder->output);
}

static enum mp_status begin_recording(struct recorder *recorder, struct mp_writer *writer,
                                      struct mp_error *error)
{
    struct recording *recording = &recorder->recording;

    recording->flight = recorder->flight.on ? &recorder->flight.notes : NULL;
    recording->path = recorder->output.path;
    recording->pool = &recorder->gpu.pool;
    recording->queue = &recorder->gpu.core.work;
    recording->logs = &recorder->gpu.core.logs;
    recording->waits = &recorder->waits;
    recording->edges = &recorder->graphs.edges;
    recording->profiled = &recorder->profiling.profiled;
    recording->samples = &recorder->sampling.store;
    recording->gpu = &recorder->gpu;
    recording->stacks = &recorder->stacks;
    recording->host_nodes = &recorder->graphs.host_nodes;
    recording->step_names = recorder->baseline.names;
    recording->paths_lost = &recorder->graphs.origins.lost;
    recording->device_graphs = &recorder->gpu.cuda.device_graphs;
    recording->conditional_graphs = &recorder->gpu.cuda.conditional_graphs;
    recording->device_launchers = &recorder->gpu.cuda.device_launchers;
    recording->paths_wanted = recorder->gpu.core.wanted.paths;
    recording->metrics = recorder->gpu.core.wanted.metrics;
    recording->collectives.off = recorder->gpu.core.config.nccl == MP_NCCL_OFF;
    recording->follows = recorder->gpu.core.config.gpu == MP_SWITCH_ON;
    if (recording_open(recording, writer, &recorder->gpu.cupti, &recorder->gpu.api,
                       recorder->gpu.core.config.capture.choice,
                       recorder->ranges.at_once && !recorder->gpu.core.config.delay) != MP_OK ||
        flusher_start(recorder) != MP_OK || writer_thread_start(recorder) != MP_OK) {
        flusher_stop(&recorder->gpu.flusher);
        recording_close(recording);
        remove_file(recorder, writer);
        return mp_error_set(error, MP_ERR_MEMORY, "no memory or thread to start");
    }
    recorder->gpu.core.begin_time = recording->begin_time;
    return MP_OK;
}

/* The file comes before CUPTI: once CUPTI is attached, launches are slower, even if it turns out
 * that nothing can be recorded. */
static enum mp_status start(struct recorder *recorder, struct mp_error *error)
{
    struct mp_writer *writer = NULL;

    MP_TRY(find_cupti(recorder, error));
    /* The kernel's time is not that of a virtual clock. */
    recorder->gpu.core.wanted.time =
        recorder->gpu.core.config.waits == MP_SWITCH_ON && !mp_clock_is_virtual();
    MP_TRY(inject_make_room(recorder, error));
    MP_TRY(open_file(recorder, &writer, error));
    attach_configure(&recorder->gpu, &(struct attach_calls){callbacks_take, recorder});
    enum mp_status status = attach_at_start(&recorder->gpu, error);
    if (status != MP_OK) {
        remove_file(recorder, writer);
        return status;
    }
    status = begin_recording(recorder, writer, error);
    if (status != MP_OK && attach_is_done(&recorder->gpu))
        subscriber_close(&recorder->gpu);
    return status;
}

/* ---- Calls that the preloaded library tells of ---- */

static void attach_switch(struct gpu *gpu)
{
    attach_now(gpu);
    lifecycle_at_exit_again(mp_recorder);
}

/* A capture that fails to begin counts as under way for good: then we look no more. */
static void count_captures(struct gpu *gpu, enum mp_preload_call call)
{
    if (call == MP_PRELOAD_CAPTURE) {
        atomic_fetch_add(&gpu->cuda.captures_reported, 1);
        contexts_await_breakers(gpu);
    } else if (call == MP_PRELOAD_CAPTURED) {
        atomic_fetch_sub(&gpu->cuda.captures_reported, 1);
    }
}

static void before_call(enum mp_preload_call call)
{
    struct gpu *gpu = &mp_recorder->gpu;
    bool makes_graph = call == MP_PRELOAD_GRAPH || call == MP_PRELOAD_CAPTURE;
    bool is_of_profiler = call == MP_PRELOAD_PROFILER || call == MP_PRELOAD_STOP;
    bool attaches = makes_graph ? gpu->attach.when == MP_ATTACH_GRAPH
                                : call == MP_PRELOAD_PROFILER && gpu->core.wanted.by_profiler;

    if (makes_graph)
        atomic_store(&gpu->cuda.graph_met, true);
    if (core_is_recording(&gpu->core) && attaches && !attach_is_done(gpu))
        range_switch(gpu, attach_switch);
    count_captures(gpu, call);
    if (is_of_profiler && core_is_recording(&gpu->core) &&
        atomic_load(&gpu->cupti_state.callbacks_taken))
        range_profiler_call(mp_recorder, call == MP_PRELOAD_PROFILER);
}

/* ---- Recording begins ---- */

/* What SIGUSR2 means, as a request of `miniprof ctl`; NULL: nothing. */
static const char *meaning_of_usr2(const struct recorder *recorder)
{
    if (recorder->flight.on)
        return "dump";
    return recorder->gpu.core.config.capture.choice == MP_CAPTURE_OFF && !recorder->ranges.scheduled
               ? "start"
               : NULL;
}

/* From here on callbacks do their work. */
static void go(struct recorder *recorder)
{
    const struct attach *attach = &recorder->gpu.attach;

    atomic_store(&recorder->gpu.cupti_state.flush_allowed, true);
    atomic_store(&recorder->gpu.core.phase, PHASE_RECORDING);
    signals_open(meaning_of_usr2(recorder));
    if (recorder->flight.on)
        crash_open();
    mp_nvtx_set_recording(recorder->gpu.core.config.nvtx == MP_SWITCH_ON);
    waits_ask(&recorder->waits, &recorder->stacks, &recorder->gpu.core, attach->preload,
              (uintptr_t)recorder->gpu.cupti.flush_all);
    if (attach_needs_preload(&recorder->gpu))
        atomic_store(&attach->preload->before, before_call);
    attach_go(&recorder->gpu);
    range_go(recorder);
}

/* Has glibc free what it has noted of functions that CUPTI or the driver lacks. The calling thread
 * may end long before the process, which would be a leak. */
static void forget_lookups(void)
{
    while (dlerror())
        continue;
}

int InitializeInjection(void)
{
    struct recorder *recorder = mp_recorder;
    int expected = PHASE_IDLE;
    struct mp_error error;

    settings_once();
    if (!atomic_compare_exchange_strong(&recorder->gpu.core.phase, &expected, PHASE_STARTING))
        return 1;
    if (recorder->gpu.core.wanted.nothing) {
        atomic_store(&recorder->gpu.core.phase, PHASE_INERT);
        return 1;
    }
    recorder->gpu.core.pid = mp_process_id();
    recorder->output.fd = -1;
    recorder->output.folder = -1;
    settle_in();
    mark_children(recorder);
    if (start(recorder, &error) == MP_OK) {
        offer_nvtx(recorder);
        offer_nccl(recorder);
        go(recorder);
        forget_lookups();
        return 1;
    }
    atomic_store(&recorder->gpu.core.phase, PHASE_INERT);
    mp_nvtx_set_recording(false);
    forget_lookups();
    mp_log_error("%s: nothing is recorded", error.text);
    return 1;
}

/* ---- NVTX ---- */

static bool nvtx_is_wanted(struct recorder *recorder)
{
    settings_once();
    return wants_nvtx(recorder) && !recorder->gpu.core.wanted.nothing &&
           core_phase(&recorder->gpu.core) != PHASE_INERT;
}

/* If NVTX comes before CUDA, its events wait for the recorder. They are taken outside of capture
 * ranges too: the ranges that are open where one begins belong to it (rows/nvtx_ranges.h). */
static int take_over(unsigned version, void *get_export_table)
{
    struct recorder *recorder = mp_recorder;

    if (!nvtx_is_wanted(recorder) || !mp_nvtx_initialize(version, get_export_table))
        return 0;
    if (recorder->gpu.core.config.nvtx == MP_SWITCH_ON &&
        core_phase(&recorder->gpu.core) < PHASE_RECORDING)
        mp_nvtx_set_recording(true);
    return 1;
}

int InitializeInjectionNvtx(void *get_export_table)
{
    return take_over(1, get_export_table);
}

int InitializeInjectionNvtx2(void *get_export_table)
{
    return take_over(2, get_export_table);
}

int InitializeInjectionNvtxExtension(void *module_info)
{
    return nvtx_is_wanted(mp_recorder) ? mp_nvtx_initialize_extension(module_info) : 0;
}
