/* Starts the probe as `miniprof run` starts a program, and once without any recorder. */
#include "calibrate/round.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings/config.h"
#include "calibrate/constants.h"

#include "base/poison.h"

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

enum mp_status round_begin(struct round *round, const struct calibrate_options *options,
                           struct mp_error *error)
{
    round->options = options;
    round->folder[0] = '\0';
    if (!launch_find_library(&round->launch, options->library))
        return mp_error_set(error, MP_ERR_IO, "cannot find %s; --library=FILE names it",
                            options->library ? options->library : "libminiprof.so");
    return scratch_make(round->folder, error);
}

void round_end(const struct round *round)
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
    int result;

    place(round, FILE_ANSWER, answer);
    snprintf(device, sizeof device, "%u", round->options->device);
    fflush(NULL);
    result = recorded ? launch_run(&round->launch, argv, child)
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

enum mp_status round_run(struct round *round, bool bare_first, struct answer_key *key,
                         struct costs *costs, struct mp_error *error)
{
    struct measured bare;
    struct measured recorded;

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
