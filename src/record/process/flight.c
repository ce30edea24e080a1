/* The flight recorder: what triggers a file, and when it is written. Triggers come from signals,
 * `miniprof ctl`, slow steps and crashes; the writer serves all of them.
 */
#include "record/process/flight.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/log.h"
#include "base/settings/config.h"
#include "base/settings/forms.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "record/core/clock.h"
#include "record/process/recorder.h"

#include "base/poison.h"

#define PACES       32 /* how often the rows of a window are checked */
#define TEXT_BYTES  256
#define FRAME_BYTES 1024 /* of a file: its other headers, and what compose_header adds */

/* ---- Settings ---- */

static void say_useless(const char *name)
{
    mp_log_warn("%s has no effect with MINIPROF_FLIGHT", name);
}

/* A range is watched by one name only. */
static bool watches_another(const struct mp_config *config)
{
    return !*config->schedule && config->capture.choice == MP_CAPTURE_NVTX &&
           !mp_text_equal(config->capture.text, config->step);
}

static bool wants_slow_steps(const struct mp_config *config)
{
    if (!*config->slow_step)
        return false;
    if (!*config->flight)
        mp_log_warn("MINIPROF_SLOW_STEP has no effect without MINIPROF_FLIGHT");
    else if (!*config->step)
        mp_log_warn("MINIPROF_SLOW_STEP has no effect without MINIPROF_STEP, the NVTX range to "
                    "time");
    else if (watches_another(config))
        mp_log_warn("MINIPROF_SLOW_STEP has no effect: MINIPROF_STEP has to be the range of "
                    "MINIPROF_CAPTURE=nvtx:%.100s",
                    config->capture.text);
    else
        return true;
    return false;
}

/* In ms. */
static int choose_pace(uint64_t window)
{
    int shortest = mp_time_limit_ms(MP_TIME_FLIGHT_PACE_MIN);
    int longest = mp_time_limit_ms(MP_TIME_FLIGHT_PACE_MAX);
    int64_t pace = (int64_t)(window / 1000000 / PACES);

    return pace < shortest ? shortest : pace > longest ? longest : (int)pace;
}

void flight_configure(struct recorder *recorder)
{
    struct mp_config *config = &recorder->gpu.core.config;
    struct flight *flight = &recorder->flight;

    if (config->query != MP_QUERY_OFF)
        return;
    flight->by_step =
        wants_slow_steps(config) && mp_slow_step_parse(config->slow_step, &flight->slow);
    flight->on = *config->flight && mp_duration_parse(config->flight, &flight->window);
    if (!flight->on)
        return;
    /* Otherwise the first cudaProfilerStart would discard what is in memory. */
    if (config->capture.choice == MP_CAPTURE_AUTO)
        config->capture.choice = MP_CAPTURE_ALL;
    if (*config->metrics) {
        say_useless("MINIPROF_METRICS");
        *config->metrics = '\0';
    }
    flight->max_files = config->flight_files;
    flight->pace = choose_pace(flight->window);
}

/* ---- Rows and notes ---- */

static enum mp_status take_chunk(void *context, const struct mp_table_info *table,
                                 const uint8_t *chunk, size_t bytes)
{
    struct flight *flight = context;

    return mp_chunk_ring_add(&flight->ring, table, chunk, bytes,
                             flight->virtual ? 0 : mp_clock_now());
}

enum mp_status flight_open(struct recorder *recorder, struct mp_writer **writer,
                           struct mp_error *error)
{
    struct flight *flight = &recorder->flight;
    struct mp_writer_options options = {.level = (int)recorder->gpu.core.config.level};
    struct mp_buffer header = {.limit = MP_MAX_HEADER_BYTES - 2 * TEXT_BYTES};
    struct mp_error cause;

    flight->notes.ring = &flight->ring;
    flight->notes.window = flight->window;
    flight->virtual = !mp_text_equal(mp_clock_name(), "monotonic");
    flight->begin_time = mp_clock_now();
    flight->sink = (struct mp_chunk_sink){take_chunk, flight};
    options.sink = &flight->sink;
    if (output_compose_header(&header, recorder) != MP_OK) {
        mp_buffer_free(&header);
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for the header");
    }
    flight->header = (char *)header.data;
    /* The header counts too: no file is larger than MINIPROF_FLIGHT_MB. */
    flight->ring.max =
        ((size_t)recorder->gpu.core.config.flight_mb << 20) - header.size - FRAME_BYTES;
    MP_TRY(output_expand(recorder, error));
    if (mp_make_folders(recorder->output.path, &cause) != MP_OK ||
        flight_file_prepare(&recorder->output, &cause) != MP_OK)
        return mp_error_set(error, cause.status, "%s (MINIPROF_OUTPUT names the file)", cause.text);
    return mp_writer_open(-1, "", &options, writer, error);
}

/* ---- Triggers ---- */

static bool step_waits(const struct flight *flight)
{
    return atomic_load_explicit(&flight->slot, memory_order_acquire) == FLIGHT_SLOT_READY;
}

/* The window ends now, or at the end of a slow step whose file is not written yet. */
static void drop_old(struct flight *flight)
{
    uint64_t now = flight->virtual ? flight->ring.newest : mp_clock_now();
    uint64_t end = step_waits(flight) && flight->step.end < now ? flight->step.end : now;

    if (end > flight->window)
        mp_chunk_ring_age(&flight->ring, end - flight->window);
}

/* All files have been written: said once. */
static bool refuse(struct flight *flight, char *text, size_t size)
{
    snprintf(text, size,
             "%u trace%s written already, as many as MINIPROF_FLIGHT_FILES allows: no more are",
             flight->files, flight->files == 1 ? " is" : "s are");
    if (!flight->refused++)
        mp_log_warn("flight recorder: %s", text);
    return false;
}

static void say_written(const struct recorder *recorder, const struct flight_trigger *trigger,
                        const char *path)
{
    char took[MP_FORMATTED_BYTES];

    if (recorder->gpu.core.config.log == MP_CONFIG_LOG_QUIET)
        return;
    if (!trigger->step)
        mp_log_closing("flight recorder: %s is written (%s)", path, trigger->reason);
    else
        mp_log_closing(
            "flight recorder: %s is written ('%.100s' took %s)", path,
            recorder->gpu.core.config.step,
            mp_format_time(took, sizeof(took), trigger->step->end - trigger->step->begin));
}

/* Says the same error once, until a file can be written again. */
static bool give_up(struct flight *flight, const struct mp_error *error, char *text, size_t size)
{
    if (!mp_text_equal(flight->trouble, error->text))
        mp_log_warn("flight recorder: %s: nothing is written, the next trigger tries again",
                    error->text);
    mp_text_copy(flight->trouble, sizeof(flight->trouble), error->text);
    mp_text_copy(text, size, error->text);
    return false;
}

bool flight_write(struct recorder *recorder, const struct flight_trigger *trigger, char *text,
                  size_t size)
{
    struct flight *flight = &recorder->flight;
    struct flight_path path;
    struct mp_error error;

    if (flight->files >= flight->max_files)
        return refuse(flight, text, size);
    recording_gather(&recorder->recording, mp_time_limit_ms(MP_TIME_FLIGHT_GATHER));
    recording_settle(&recorder->recording);
    recording_flush(&recorder->recording);
    drop_old(flight);
    if (flight_trace_write(recorder, trigger, &path, &error) != MP_OK)
        return give_up(flight, &error, text, size);
    flight->files++;
    *flight->trouble = '\0';
    say_written(recorder, trigger, path.text);
    snprintf(text, size, "%s records, %s", mp_count(flight->ring.events.rows).text, path.text);
    return true;
}

void flight_write_for(struct recorder *recorder, const char *reason)
{
    const struct flight_trigger trigger = {.reason = reason,
                                           .time = flight_time_now(&recorder->flight.ring)};
    char text[TEXT_BYTES];

    flight_write(recorder, &trigger, text, sizeof(text));
}

static void write_step(struct recorder *recorder)
{
    struct flight *flight = &recorder->flight;
    const struct flight_step step = flight->step;
    char text[TEXT_BYTES];

    flight_write(recorder,
                 &(struct flight_trigger){.reason = "slow step", .time = step.end, .step = &step},
                 text, sizeof(text));
    flight->step_seen = 0;
    atomic_store_explicit(&flight->slot, FLIGHT_SLOT_FREE, memory_order_release);
}

/* If there are too many names, begins anew before they take all the memory. */
static void bound_definitions(struct recorder *recorder)
{
    struct flight *flight = &recorder->flight;
    size_t max = flight->ring.max / 2;

    if (flight->ring.kept.bytes <= max &&
        dictionary_bytes(&recorder->recording.dictionary) <= flight->ring.max)
        return;
    recording_begin_anew(&recorder->recording);
    mp_chunk_ring_clear(&flight->ring);
    if (!flight->anew++)
        mp_log_warn("flight recorder: names and launch shapes take half of MINIPROF_FLIGHT_MB=%u: "
                    "what was recorded is forgotten, recording begins anew",
                    recorder->gpu.core.config.flight_mb);
}

void flight_round(struct recorder *recorder)
{
    struct flight *flight = &recorder->flight;

    if (step_waits(flight)) {
        if (!flight->step_seen)
            flight->step_seen = mp_monotonic_ms();
        if (mp_monotonic_ms() - flight->step_seen >= mp_time_limit_ms(MP_TIME_FLIGHT_STEP))
            write_step(recorder);
    }
    drop_old(flight);
    bound_definitions(recorder);
}

void flight_finish(struct recorder *recorder)
{
    if (step_waits(&recorder->flight))
        write_step(recorder);
}

void flight_step(void *context, uint64_t begin, uint64_t end)
{
    struct recorder *recorder = context;
    struct flight *flight = &recorder->flight;
    uint64_t took = end - begin;
    uint64_t limit = flight->slow.limit_ns;
    int expected = FLIGHT_SLOT_FREE;

    if (!core_is_recording(&recorder->gpu.core) || begin < flight->begin_time)
        return;
    if (!limit && mp_histogram_count(&flight->steps) >= FLIGHT_STEPS)
        limit = (uint64_t)((double)mp_histogram_percentile(&flight->steps, flight->slow.percent) *
                           flight->slow.factor);
    if (!flight->slow.limit_ns)
        mp_histogram_add(&flight->steps, took);
    if (!limit || took <= limit)
        return;
    atomic_fetch_add_explicit(&flight->slow_steps, 1, memory_order_relaxed);
    /* If a slow step waits for its file already, this one is in that file too. */
    if (!atomic_compare_exchange_strong(&flight->slot, &expected, FLIGHT_SLOT_TAKEN))
        return;
    flight->step = (struct flight_step){.begin = begin, .end = end, .limit = limit};
    atomic_store_explicit(&flight->slot, FLIGHT_SLOT_READY, memory_order_release);
    work_wake(&recorder->gpu.core.work);
}

void flight_describe(struct recorder *recorder, char *text, size_t size)
{
    struct flight *flight = &recorder->flight;
    uint64_t now = flight_time_now(&flight->ring);
    uint64_t from = flight_time_from(flight);
    double seconds = now > from ? (double)(now - from) / 1e9 : 0;
    char steps[TEXT_BYTES] = "";

    if (flight->by_step)
        snprintf(steps, sizeof(steps), ", %s slow steps",
                 mp_count(atomic_load(&flight->slow_steps)).text);
    snprintf(text, size,
             "flight of %s, %.1f s and %.1f MiB held, %s records, %u file%s written, %s refused%s",
             recorder->gpu.core.config.flight, seconds,
             (double)mp_chunk_ring_bytes(&flight->ring) / (double)(1 << 20),
             mp_count(flight->ring.events.rows).text, flight->files, flight->files == 1 ? "" : "s",
             mp_count(flight->refused).text, steps);
}

void flight_close(struct flight *flight)
{
    mp_chunk_ring_clear(&flight->ring);
    free(flight->header);
    flight->header = NULL;
}
