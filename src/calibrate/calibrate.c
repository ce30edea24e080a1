/* Runs the rounds of a calibration, one after the other, and sums them up. */
#include "calibrate/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data/algorithms.h"
#include "base/settings/config.h"
#include "base/text/strings.h"
#include "calibrate/answer.h"
#include "cli/program.h"
#include "run/run.h"

#include "base/poison.h"

/* ---- Arithmetic ----
 *
 * The arithmetic of `miniprof calibrate`: differences and slopes.
 *
 *     around = time of a recorded call, less its duration in the trace
 *     in     = what recording adds to a call, less around
 *
 * A graph's launch has a fixed part and a part for each node: the slope over graphs of three
 * sizes, and what is left of the smallest. What recording adds to a round trip on an idle GPU is
 * the launch call, `start`, `finish`, and what is around the call that waits and comes after it.
 * What is inside of that call comes while it waits, or is a part of `finish`. Half of what is
 * around a call comes before it.
 */

/* What is left of `whole` is inside of the call. */
struct split {
    double in;
    double around;
};

static double added(const struct measured *bare, const struct measured *recorded,
                    enum measure measure)
{
    return recorded->ns[measure] - bare->ns[measure];
}

/* What happens around a call that has no record cannot be told from the call: all is around. */
static struct split split(const struct measured *bare, const struct measured *recorded,
                          enum measure measure)
{
    double whole = added(bare, recorded, measure);
    double around = recorded->ns[measure] - recorded->inside[measure];

    if (around > whole)
        around = whole;
    return (struct split){whole - around, around};
}

/* Slope of the straight line nearest to three points, by least squares. */
static double slope(const double x[3], const double y[3])
{
    double mean_x = (x[0] + x[1] + x[2]) / 3;
    double mean_y = (y[0] + y[1] + y[2]) / 3;
    double above = 0;
    double below = 0;

    for (int i = 0; i < 3; i++) {
        above += (x[i] - mean_x) * (y[i] - mean_y);
        below += (x[i] - mean_x) * (x[i] - mean_x);
    }
    return above / below;
}

static void find_graph(const struct measured *bare, const struct measured *recorded,
                       struct costs *costs)
{
    static const double nodes[3] = {1, 100, 400};
    struct split one = split(bare, recorded, MEASURE_GRAPH_1);
    double in[3] = {one.in, split(bare, recorded, MEASURE_GRAPH_100).in,
                    split(bare, recorded, MEASURE_GRAPH_400).in};

    costs->graph_around = one.around;
    costs->node_in = slope(nodes, in);
    costs->graph_in = one.in - costs->node_in;
}

static void find_calls(const struct measured *bare, const struct measured *recorded,
                       struct costs *costs)
{
    struct split launch = split(bare, recorded, MEASURE_LAUNCH);
    struct split copy = split(bare, recorded, MEASURE_COPY);
    struct split call = split(bare, recorded, MEASURE_CALL);

    costs->launch_in = launch.in;
    costs->launch_around = launch.around;
    costs->copy_in = copy.in;
    costs->copy_around = copy.around;
    costs->call_in = call.in;
    costs->call_around = call.around;
}

static void find_gaps(const struct measured *bare, const struct measured *recorded,
                      struct costs *costs)
{
    costs->kernel_gap = added(bare, recorded, MEASURE_KERNELS);
    costs->copy_gap = added(bare, recorded, MEASURE_PAIRS) - costs->kernel_gap;
    costs->node_gap =
        (added(bare, recorded, MEASURE_NODES_400) - added(bare, recorded, MEASURE_NODES_100)) / 300;
}

/* What a trip adds at its begin, besides the launch call; without a sign of the kernel's begin,
 * half of what the whole trip adds besides the calls. */
static double find_start(const struct measured *bare, const struct measured *recorded,
                         enum measure begin, double call, double otherwise)
{
    if (!bare->known[begin] || !recorded->known[begin])
        return otherwise;
    return added(bare, recorded, begin) - call;
}

static void find_trips(const struct measured *bare, const struct measured *recorded,
                       struct costs *costs)
{
    double after = costs->call_around / 2;
    double launch = costs->launch_in + costs->launch_around / 2;
    double graph = costs->graph_in + costs->node_in + costs->graph_around / 2;
    double rest = added(bare, recorded, MEASURE_TRIP) - launch - after;
    double graph_rest = added(bare, recorded, MEASURE_GRAPH_TRIP) - graph - after;

    costs->start = find_start(bare, recorded, MEASURE_BEGIN, launch, rest / 2);
    costs->finish = rest - costs->start;
    costs->graph_start =
        find_start(bare, recorded, MEASURE_GRAPH_BEGIN, graph, graph_rest - costs->finish);
}

void constants_find(const struct measured *bare, const struct measured *recorded,
                    struct costs *costs)
{
    find_calls(bare, recorded, costs);
    find_graph(bare, recorded, costs);
    find_gaps(bare, recorded, costs);
    find_trips(bare, recorded, costs);
}

/* ---- One round ----
 *
 * Starts the probe as `miniprof run` starts a program, and once without any recorder.
 */

struct round {
    const struct calibrate_options *options;
    struct launch launch;
    char folder[SCRATCH_BYTES]; /* temporary; empty: there is none */
    struct answer answer;       /* of the probe that ran last */
};

static const char *const file_names[] = {"answer", "said", "trace.mpt"};

enum { FILE_ANSWER, FILE_SAID, FILE_TRACE };

#define PLACE_BYTES (SCRATCH_BYTES + 16)

static const char *place(const struct round *round, int file, char path[PLACE_BYTES])
{
    snprintf(path, PLACE_BYTES, "%s/%s", round->folder, file_names[file]);
    return path;
}

static void remove_files(const struct round *round)
{
    char path[PLACE_BYTES];

    for (int i = FILE_ANSWER; i <= FILE_TRACE; i++)
        unlink(place(round, i, path));
}

/* Finds the library and makes the folder; call round_end also after a failure. */
static enum mp_status round_begin(struct round *round, const struct calibrate_options *options,
                                  struct mp_error *error)
{
    round->options = options;
    round->folder[0] = '\0';
    if (!launch_find_library(&round->launch, options->library))
        return mp_error_set(error, MP_ERR_IO, "cannot find %s; --library=FILE names it",
                            options->library ? options->library : "libminiprof.so");
    return scratch_make(round->folder, error);
}

static void round_end(const struct round *round)
{
    if (!round->folder[0])
        return;
    remove_files(round);
    rmdir(round->folder);
}

/* ---- The child's environment ---- */

/* What the child prints is read only if it fails. */
static bool catch_output(const struct round *round)
{
    char path[PLACE_BYTES];
    int said = open(place(round, FILE_SAID, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    return said >= 0 && dup2(said, STDOUT_FILENO) >= 0 && dup2(said, STDERR_FILENO) >= 0;
}

/* Recording is measured as it is by default, whatever this process has for others. */
static bool clear_settings(void)
{
    for (size_t i = 0; i < mp_setting_count; i++) {
        if (unsetenv(mp_settings[i].name) != 0)
            return false;
    }
    return true;
}

static int prepare_bare(void *context)
{
    const struct round *round = context;

    if (!clear_settings() || unsetenv("CUDA_INJECTION64_PATH") != 0 ||
        unsetenv("NVTX_INJECTION64_PATH") != 0)
        return ENOMEM;
    return catch_output(round) ? 0 : errno;
}

static bool prepare_recorded(const void *context)
{
    const struct round *round = context;
    char path[PLACE_BYTES];

    return clear_settings() && setenv("MINIPROF_OUTPUT", place(round, FILE_TRACE, path), 1) == 0 &&
           setenv("MINIPROF_LOG", "quiet", 1) == 0 && catch_output(round);
}

/* ---- The child ---- */

/* The first line that the child printed, behind what it failed with. */
static enum mp_status fail_as_said(const struct round *round, enum mp_status status,
                                   const char *what, struct mp_error *error)
{
    char path[PLACE_BYTES];
    char line[200] = "";
    FILE *file = fopen(place(round, FILE_SAID, path), "re");

    if (file && fgets(line, sizeof line, file))
        line[strcspn(line, "\n")] = '\0';
    if (file)
        fclose(file);
    return mp_error_set(error, status, "%s%s%s", what, *line ? ": " : "", line);
}

static enum mp_status start(struct round *round, bool recorded, struct child *child,
                            struct mp_error *error)
{
    char program[] = "/proc/self/exe";
    char command[] = "calibrate";
    char probe[] = CALIBRATE_PROBE;
    char answer[PLACE_BYTES];
    char device[16];
    char *argv[] = {program, command, probe, answer, device, NULL};

    place(round, FILE_ANSWER, answer);
    snprintf(device, sizeof device, "%u", round->options->device);
    fflush(NULL);
    int result = recorded ? launch_run(&round->launch, argv, child)
                          : child_run(argv, prepare_bare, round, child);
    if (result != 0 || child->start_errno)
        return mp_error_set(error, MP_ERR_IO, "cannot start the probe: %s",
                            strerror(result ? errno : child->start_errno));
    return MP_OK;
}

static enum mp_status run_probe(struct round *round, bool recorded, struct mp_error *error)
{
    struct child child = {.mask = NULL};
    char path[PLACE_BYTES];
    char text[64];

    remove_files(round);
    MP_TRY(start(round, recorded, &child, error));
    if (child.signalled && child.exit_code == 128 + SIGALRM)
        return mp_error_set(error, MP_ERR_IO, "the CUDA driver did not answer in time");
    if (child.signalled) {
        snprintf(text, sizeof text, "the probe ended with signal %d", child.exit_code - 128);
        return fail_as_said(round, MP_ERR_IO, text, error);
    }
    MP_TRY(answer_read(place(round, FILE_ANSWER, path), &round->answer, error));
    if (child.exit_code)
        return fail_as_said(round, MP_ERR_IO, "the probe failed", error);
    return MP_OK;
}

static enum mp_status measure_bare(struct round *round, struct measured *measured,
                                   struct mp_error *error)
{
    MP_TRY(run_probe(round, false, error));
    return answer_sum_up(&round->answer, measured, error);
}

static enum mp_status measure_recorded(struct round *round, struct answer_key *key,
                                       struct measured *measured, struct mp_error *error)
{
    char path[PLACE_BYTES];
    struct mp_error cause;

    MP_TRY(run_probe(round, true, error));
    place(round, FILE_TRACE, path);
    if (access(path, F_OK) != 0)
        return fail_as_said(round, MP_ERR_IO, "the recorder wrote no trace", error);
    if (answer_read_trace(path, round->options->device, &round->answer, key, &cause) != MP_OK)
        return mp_error_set(error, cause.status, "the recorded probe cannot be used: %s",
                            cause.text);
    return answer_sum_up(&round->answer, measured, error);
}

/* Runs both probes, the bare one first if asked for; *costs may be below 0. */
static enum mp_status round_run(struct round *round, bool bare_first, struct answer_key *key,
                                struct costs *costs, struct mp_error *error)
{
    struct measured bare = {0};
    struct measured recorded = {0};

    round->launch.export_settings = prepare_recorded;
    round->launch.context = round;
    if (bare_first)
        MP_TRY(measure_bare(round, &bare, error));
    MP_TRY(measure_recorded(round, key, &recorded, error));
    if (!bare_first)
        MP_TRY(measure_bare(round, &bare, error));
    constants_find(&bare, &recorded, costs);
    return MP_OK;
}

/* ---- Several rounds ---- */

#define WIDE_NS 300

static double at_least_0(double value)
{
    return value > 0 ? value : 0;
}

/* Cost `i` of all rounds: the median, and how far the rounds reach. */
static bool sum_up(struct costs *rounds, size_t count, size_t i, struct calibration *result)
{
    double values[CALIBRATE_MAX_ROUNDS];
    double *min;
    double *max;
    double *value;

    for (size_t round = 0; round < count; round++) {
        double *of_round;
        if (!costs_at(&rounds[round], i, NULL, &of_round, NULL))
            return false;
        values[round] = at_least_0(*of_round);
    }
    qsort(values, count, sizeof *values, mp_compare_real);
    costs_at(&result->min, i, NULL, &min, NULL);
    costs_at(&result->max, i, NULL, &max, NULL);
    costs_at(&result->values, i, NULL, &value, NULL);
    *min = values[0];
    *max = values[count - 1];
    *value = (values[(count - 1) / 2] + values[count / 2]) / 2;
    return true;
}

void calibration_sum_up(struct costs *rounds, size_t count, struct calibration *result)
{
    for (size_t i = 0; sum_up(rounds, count, i, result);)
        i++;
}

size_t calibration_wide(struct calibration *result)
{
    size_t wide = 0;
    double *value;
    double *min;
    double *max;

    for (size_t i = 0; costs_at(&result->values, i, NULL, &value, NULL); i++) {
        costs_at(&result->min, i, NULL, &min, NULL);
        costs_at(&result->max, i, NULL, &max, NULL);
        wide += *max - *min > WIDE_NS && *max - *min > *value / 2;
    }
    return wide;
}

/* ---- The calibration ---- */

static enum mp_status run_rounds(struct round *round, struct costs *rounds,
                                 struct calibration *result, struct mp_error *error)
{
    struct answer_key key = {.driver = 0};

    for (size_t i = 0; i < round->options->rounds; i++)
        MP_TRY(round_run(round, i % 2 == 0, &key, &rounds[i], error));
    mp_text_copy(result->gpu, sizeof result->gpu, key.gpu);
    result->key = (struct costs_key){result->gpu, key.driver, key.cupti};
    calibration_sum_up(rounds, round->options->rounds, result);
    return MP_OK;
}

enum mp_status calibrate(const struct calibrate_options *options, struct calibration *result,
                         struct mp_error *error)
{
    struct round *round = malloc(sizeof *round);
    struct costs *rounds = calloc(options->rounds, sizeof *rounds);

    if (!round || !rounds) {
        free(round);
        free(rounds);
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    }
    enum mp_status status = round_begin(round, options, error);
    if (status == MP_OK)
        status = run_rounds(round, rounds, result, error);
    round_end(round);
    free(rounds);
    free(round);
    return status;
}
