/* The recorder's two threads that run all the time: the writer and the flusher. */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process.h"
#include "base/settings/config.h"
#include "base/text/units.h"
#include "record/core/clock.h"
#include "record/core/thread.h"
#include "record/cupti/flush.h"
#include "record/nvtx/nvtx.h"
#include "record/process/flight.h"
#include "record/process/lifecycle.h"
#include "record/process/range.h"
#include "record/process/recorder.h"
#include "record/process/signals.h"

#include "base/poison.h"

/* ---- The writer ----
 *
 * It waits, runs a round, serves signals and `miniprof ctl`, and flushes in time. It never waits
 * inside CUPTI.
 */

#define STACK_BYTES ((size_t)1 << 20)

struct pace {
    struct recorder *recorder;
    int flush_ms;     /* from one flush of CUPTI to the next */
    int write_ms;     /* from one write of the file to the next */
    int64_t flushed;  /* when CUPTI was last flushed */
    int64_t written;  /* when the file was last written */
    int64_t enabled;  /* when records were last on */
    int64_t fetched;  /* when CUPTI was last flushed outside of ranges */
    int64_t patience; /* until the next such flush, ms */
    int64_t ends;     /* when MINIPROF_TIMEOUT is over; 0: never, or already */
};

/* Outside of ranges: whether to flush because CUPTI may still hold a buffer of ours, whose contents
 * another client would lose (clients.h). The intervals double, since another client may have been
 * given the buffer. */
static bool fetch_last(struct recorder *recorder, struct pace *pace, int64_t now)
{
    if (!buffer_pool_is_out(&recorder->gpu.pool)) {
        pace->patience = pace->flush_ms;
        return false;
    }
    if (now - pace->fetched < pace->patience)
        return false;
    pace->fetched = now;
    pace->patience *= 2;
    return true;
}

/* Asks for a flush of CUPTI's complete buffers. Not in the mode `range` outside of ranges, where
 * nothing shall disturb the application. */
static void ask_cupti(struct recorder *recorder, struct pace *pace, int64_t now)
{
    /* Also before each write, so that the write includes all there is. */
    if (now - pace->flushed < pace->flush_ms && now - pace->written < pace->write_ms)
        return;
    pace->flushed = now;
    if (atomic_load(&recorder->gpu.core.enabled))
        pace->enabled = now;
    if (!atomic_load(&recorder->gpu.clients.taken) &&
        now - pace->enabled > mp_time_limit_ms(MP_TIME_RANGE_LINGER) &&
        !fetch_last(recorder, pace, now))
        return;
    if (recorder->flight.on)
        flusher_ask(&recorder->gpu.flusher);
    else if (!flusher_is_behind(&recorder->gpu.flusher))
        recording_gather(&recorder->recording, mp_time_limit_ms(MP_TIME_CUPTI_GATHER));
}

/* Counts the records that CUPTI has said to have dropped, and other losses. The writer never asks
 * CUPTI, which may hang: the flusher does, and the last flush. */
static void count_drops(struct recorder *recorder)
{
    uint64_t *values = recorder->recording.quality.values;

    values[QUALITY_cupti_errors] = atomic_load(&recorder->gpu.cupti_state.errors);
    values[QUALITY_callbacks_taken] = atomic_load(&recorder->gpu.cupti_state.callbacks_taken);
    values[QUALITY_baseline_steps] = atomic_load(&recorder->baseline.steps);
    values[QUALITY_baseline_unrecorded] = atomic_load(&recorder->baseline.without);
    values[QUALITY_forced_exits] = atomic_load(&recorder->gpu.cupti_state.forced_exits);
    values[QUALITY_dropped_taken_over] = atomic_load(&recorder->gpu.clients.lost);
    values[QUALITY_dropped_by_cupti] += atomic_exchange(&recorder->gpu.flusher.dropped, 0);
}

static void write_file(struct recorder *recorder, struct pace *pace, int64_t now)
{
    if (now - pace->written < pace->write_ms)
        return;
    pace->written = now;
    count_drops(recorder);
    recording_flush(&recorder->recording);
    if (recorder->recording.failure_said)
        range_give_up(recorder);
}

/* When MINIPROF_TIMEOUT is over, sends SIGTERM. If the application leaves it at its default, our
 * handler completes the file (signals.h); if not, the application decides. */
static void check_timeout(struct recorder *recorder, struct pace *pace, int64_t now)
{
    if (!pace->ends || now < pace->ends)
        return;
    pace->ends = 0;
    mp_log_warn("the timeout of %u s is over", recorder->gpu.core.config.timeout);
    if (recorder->gpu.core.pid > 0)
        kill(recorder->gpu.core.pid, SIGTERM);
}

/* Time until the next flush or write, ms. */
static int time_left(const struct pace *pace, int64_t now)
{
    int64_t flush = pace->flushed + pace->flush_ms;
    int64_t write = pace->written + pace->write_ms;
    int64_t next = flush < write ? flush : write;

    return next > now ? (int)(next - now) : 0;
}

/* Opens the file again, if the program has closed our descriptor with all others. */
static void keep_file(struct recorder *recorder)
{
    struct mp_writer *writer = recorder->recording.writer;

    if (!recorder->flight.on && !writer->failure.status && !output_is_open(&recorder->output))
        mp_writer_replace_file(writer, output_open_again(&recorder->output));
}

/* Serves SIGUSR2: each begins a range, or ends the open one. With the flight recorder each writes a
 * file. */
static void take_toggles(struct recorder *recorder)
{
    uint32_t count = atomic_exchange(&recorder->ranges.toggles, 0);

    if (recorder->flight.on && count) {
        flight_write_for(recorder, "SIGUSR2");
        return;
    }
    while (count-- && core_is_recording(&recorder->gpu.core)) {
        uint64_t number;
        bool over;
        bool open = range_is_open(recorder, &number, &over);
        enum range_answer answer = range_trigger(recorder, !open);

        if (answer == RANGE_DONE || answer == RANGE_LATE)
            mp_log_info("SIGUSR2: recording %s", open ? "ends" : "begins");
    }
}

static enum throttle_pressure pressure_now(struct recorder *recorder, const struct pace *pace)
{
    int left = time_left(pace, mp_monotonic_ms());

    if (!left || buffer_pool_is_low(&recorder->gpu.pool) || mp_nvtx_is_low())
        return THROTTLE_PRESSED;
    return left < mp_time_limit_ms(MP_TIME_CATCH_UP) ? THROTTLE_HASTE : THROTTLE_CALM;
}

/* Called between buffers: rests if there is time. */
static void rest(const void *context)
{
    const struct pace *pace = context;
    struct recorder *recorder = pace->recorder;
    uint64_t ns;

    do {
        ns = throttle_rest(&recorder->throttle, mp_monotonic_ns(), throttle_cpu_now(),
                           pressure_now(recorder, pace));
    } while (ns && !work_rest(&recorder->gpu.core.work, ns));
}

static void run_rounds(struct recorder *recorder)
{
    int64_t start = mp_monotonic_ms();
    int flush_ms = mp_time_limit_ms(MP_TIME_CUPTI_FLUSH);
    int write_ms = mp_time_limit_ms(MP_TIME_FILE_WRITE);
    struct pace pace = {.recorder = recorder,
                        .flush_ms = flush_ms,
                        .write_ms = recorder->flight.on ? recorder->flight.pace : write_ms,
                        .flushed = start,
                        .written = start,
                        .enabled = start,
                        .patience = flush_ms};
    bool exits = false;

    if (recorder->gpu.core.config.timeout)
        pace.ends = start + (int64_t)recorder->gpu.core.config.timeout *
                                mp_time_limit_ms(MP_TIME_SETTING_SECOND);

    throttle_begin(&recorder->throttle, mp_monotonic_ns(), throttle_cpu_now());
    recorder->recording.rest = rest;
    recorder->recording.rest_context = &pace;
    while (!atomic_load(&recorder->ending.stop)) {
        buffer_pool_fault_ahead(&recorder->gpu.pool);
        work_wait(&recorder->gpu.core.work,
                  range_tick(recorder, time_left(&pace, mp_monotonic_ms())));
        keep_file(recorder);
        exits = exits || lifecycle_exit_alone(recorder);
        if (lifecycle_is_asked(recorder) && lifecycle_claim_end(recorder)) {
            recorder->recording.rest = NULL; /* the program waits */
            lifecycle_flush(recorder);
            return;
        }
        crash_serve(recorder);
        take_toggles(recorder);
        ctl_serve(recorder);
        ask_cupti(recorder, &pace, mp_monotonic_ms());
        recording_take(&recorder->recording);
        write_file(recorder, &pace, mp_monotonic_ms());
        if (recorder->flight.on)
            flight_round(recorder);
        check_timeout(recorder, &pace, mp_monotonic_ms());
    }
}

/* `unwritten`: rows that came after the file could no longer be written. */
static void say_result(const struct recorder *recorder, const struct mp_writer_totals *totals,
                       uint64_t unwritten, uint64_t bytes)
{
    const struct quality *quality = &recorder->recording.quality;
    uint64_t cpu = quality->values[QUALITY_writer_cpu_ns];
    char size[MP_FORMATTED_BYTES];

    if (recorder->gpu.core.config.log == MP_CONFIG_LOG_QUIET)
        return;
    mp_log_closing("%s: %s, %s records, %s dropped, writer %.1f ms (%.1f %%) CPU",
                   recorder->output.path, mp_format_size(size, sizeof(size), bytes),
                   mp_count(totals->event_rows).text,
                   mp_count(quality_dropped(quality) + unwritten).text, (double)cpu / 1e6,
                   throttle_percent(&recorder->throttle, mp_monotonic_ns(), cpu));
}

static void say_nothing(const struct recorder *recorder)
{
    if (recorder->gpu.attach.missed && !attach_is_done(&recorder->gpu))
        return; /* that was said */
    if (!attach_is_done(&recorder->gpu))
        mp_log_warn("no capture range began: nothing was recorded");
    else if (!atomic_load(&recorder->gpu.cuda.ready))
        mp_log_warn("CUDA did not start (is there a GPU?): nothing was recorded");
    else
        mp_log_info("the process used no GPU: nothing was recorded");
}

/* Whether there is nothing to keep: no context was made and no NVTX event came. Without CUPTI no
 * context is seen, but nothing is recorded then either. */
static bool is_empty(const struct recorder *recorder)
{
    return !atomic_load(&recorder->gpu.cuda.context_made) && !recorder->recording.nvtx_events;
}

/* The end with the flight recorder, which has no open file. Triggers that came in time still get
 * their files. */
static void close_flight(struct recorder *recorder)
{
    struct recording *recording = &recorder->recording;
    struct flight *flight = &recorder->flight;
    struct mp_writer_totals totals;

    if (atomic_load(&recorder->gpu.cupti_state.forced_exits))
        activity_recover(&recorder->gpu);
    recording_end(recording, atomic_load(&recorder->ending.end_time));
    count_drops(recorder);
    recording_flush(recording);
    crash_serve(recorder);
    take_toggles(recorder);
    flight_finish(recorder);
    flusher_stop(&recorder->gpu.flusher);
    mp_writer_totals(recording->writer, &totals);
    mp_writer_close(recording->writer, NULL);
    recording->writer = NULL;
    flight_file_close(&recorder->output);
    mp_log_info(
        "flight recorder: %u trace%s written, %s records seen, %s dropped, writer %.1f ms CPU",
        flight->files, flight->files == 1 ? "" : "s", mp_count(totals.event_rows).text,
        mp_count(quality_dropped(&recording->quality)).text,
        (double)recording->quality.values[QUALITY_writer_cpu_ns] / 1e6);
    flight_close(flight);
}

static void close_file(struct recorder *recorder)
{
    struct recording *recording = &recorder->recording;
    struct mp_writer_totals totals;
    bool is_gone;

    keep_file(recorder);
    if (atomic_load(&recorder->gpu.cupti_state.forced_exits) ||
        activity_other_has_left(&recorder->gpu))
        activity_recover(&recorder->gpu);
    recording_end(recording, atomic_load(&recorder->ending.end_time));
    if (flusher_rests(&recorder->gpu.flusher, mp_time_limit_ms(MP_TIME_CUPTI_GATHER)))
        clients_end(&recorder->gpu);
    flusher_stop(&recorder->gpu.flusher);
    count_drops(recorder);
    recording_flush(recording);
    if (recording->writer->waits)
        recording_flush(recording); /* what that lost is counted in the file, if it has room now */
    mp_writer_totals(recording->writer, &totals);
    uint64_t unwritten =
        recording->writer->lost_rows - recording->quality.values[QUALITY_dropped_unwritten];
    int held = output_hold(&recorder->output);
    mp_writer_close(recording->writer, NULL);
    uint64_t bytes = output_bytes(&recorder->output, held, &is_gone);
    recording->writer = NULL;
    if (recorder->gpu.core.config.query != MP_QUERY_OFF)
        return; /* the answer is complete; it speaks for itself */
    if (is_gone) {
        mp_log_warn("'%s' was removed while the program ran: the trace is lost",
                    recorder->output.path);
    } else if (!is_empty(recorder)) {
        say_result(recorder, &totals, unwritten, bytes);
    } else {
        output_remove(&recorder->output);
        say_nothing(recorder);
    }
}

static void *writer_main(void *argument)
{
    struct recorder *recorder = argument;

    atomic_store(&recorder->ending.writer, mp_thread_id());
    pthread_setname_np(pthread_self(), "miniprof");
    run_rounds(recorder);
    recorder->recording.rest = NULL; /* the program waits for the end */
    ctl_close(&recorder->ctl);
    if (recorder->flight.on)
        close_flight(recorder);
    else
        close_file(recorder);
    lifecycle_closed(recorder);
    int number = atomic_load(&recorder->ending.signal);
    if (number)
        signals_raise(number);
    return NULL;
}

enum mp_status writer_thread_start(struct recorder *recorder)
{
    /* Opened here, not by the writer, which may start late on a busy machine: as soon as the
     * program runs, `miniprof ctl` must find it. */
    ctl_open(&recorder->ctl);
    enum mp_status status = thread_start(&recorder->gpu.core.threads, &recorder->writer,
                                         STACK_BYTES, writer_main, recorder);
    if (status != MP_OK)
        ctl_close(&recorder->ctl);
    return status;
}

/* ---- The flusher ----
 *
 * It serves the ends of capture ranges, flushes what the writer has asked for, and then looks for
 * other CUPTI clients.
 */

/* The look for other clients compares calls with CUPTI's answers to them. The two belong together
 * only after a round of the writer, so the flusher waits for one here, unless a range ends
 * meanwhile. */
static void await_writer(struct recorder *recorder, uint32_t request)
{
    const struct timespec pause = mp_time_limit_timespec(MP_TIME_FLUSHER_LOOK);
    int64_t until = mp_monotonic_ms() + mp_time_limit_ms(MP_TIME_FLUSHER_ROUND);

    while ((int32_t)(atomic_load(&recorder->gpu.flusher.taken) - request) < 0 &&
           mp_monotonic_ms() < until && core_is_recording(&recorder->gpu.core)) {
        uint32_t seen = atomic_load(&recorder->gpu.flusher.woken);

        range_serve(recorder);
        flusher_rest(&recorder->gpu.flusher, seen, &pause);
    }
}

/* Flushes, if the writer has asked for a flush. */
static void answer(struct recorder *recorder)
{
    struct flusher *flusher = &recorder->gpu.flusher;
    uint32_t asked = atomic_load(&flusher->asked);

    if (asked == atomic_load(&flusher->done))
        return;
    flush_buffers(&recorder->gpu, range_switch);
    atomic_store(&flusher->done, asked);
    work_wake(&recorder->gpu.core.work);
    await_writer(recorder, asked);
    if (core_is_recording(&recorder->gpu.core))
        clients_look(&recorder->gpu, mp_monotonic_ms(), range_switch);
}

static void *flusher_main(void *argument)
{
    struct recorder *recorder = argument;
    struct flusher *flusher = &recorder->gpu.flusher;

    pthread_setname_np(pthread_self(), "miniprof-flush");
    for (;;) {
        uint32_t seen = atomic_load(&flusher->woken);

        if (atomic_load(&flusher->stop))
            return NULL;
        atomic_store(&flusher->busy, true);
        range_serve(recorder);
        answer(recorder);
        atomic_store(&flusher->busy, false);
        flusher_rest(flusher, seen, NULL);
    }
}

enum mp_status flusher_start(struct recorder *recorder)
{
    pthread_t thread;

    return thread_start(&recorder->gpu.core.threads, &thread, STACK_BYTES, flusher_main, recorder);
}
