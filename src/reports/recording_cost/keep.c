/* Of each run the marks of the process that the trace is of: the same number among the processes
 * that left marks of their steps, by process id. The steps become rows of the table `step`.
 */
#include "reports/recording_cost/baseline.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "base/text/strings.h"
#include "profile/identity.h"
#include "reports/recording_cost/marks.h"
#include "reports/recording_cost/recording_cost.h"
#include "trace/writer.h"

#include "base/poison.h"

#define NO_STEPS "no such steps were made without CUPTI"

#define LEVEL 9 /* of zstd: there are few rows, and no hurry */

struct keeping {
    const struct kept_runs *runs;
    struct kept_steps *kept;
    struct mp_trace *trace;
    struct trace_study study;
    struct marks_pattern pattern;
    uint64_t process;
    size_t number; /* of the process among those of its run, */
    size_t among;  /* how many there are */

    struct baseline_step *rows; /* owned */
    size_t count, capacity;
    uint64_t scale; /* of modelled costs, as struct quality has it; 0: not known */
};

/* ---- The files of a run ---- */

struct processes {
    uint64_t *items; /* ascending; owned */
    size_t count, capacity;
};

static void path_of(const struct keeping *keeping, unsigned run, uint64_t process,
                    char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%u/" STEPS_FILE "%llu", keeping->runs->folder, run,
             (unsigned long long)process);
}

/* A process without a mark of a step does not count. If it only asks for devices, CUPTI comes to it
 * in recorded runs, and it leaves a file in these alone. */
static enum mp_status list_process(const struct keeping *keeping, unsigned run, uint64_t process,
                                   struct processes *processes)
{
    char path[PATH_MAX];

    path_of(keeping, run, process, path);
    if (!marks_are_left(path))
        return MP_OK;
    MP_TRY(MP_RESERVE(processes->items, processes->count, processes->capacity));
    processes->items[processes->count++] = process;
    return MP_OK;
}

static enum mp_status list_processes(const struct keeping *keeping, unsigned run,
                                     struct processes *processes)
{
    const struct dirent *entry;
    enum mp_status status = MP_OK;
    char folder[PATH_MAX];

    snprintf(folder, sizeof folder, "%s/%u", keeping->runs->folder, run);
    DIR *entries = opendir(folder);
    *processes = (struct processes){.items = NULL};
    while (entries && !status && (entry = readdir(entries)))
        if (mp_text_starts_with(entry->d_name, STEPS_FILE))
            status = list_process(
                keeping, run, strtoull(entry->d_name + strlen(STEPS_FILE), NULL, 10), processes);
    if (entries)
        closedir(entries);
    if (processes->count)
        mp_sort_u64(processes->items, processes->count);
    return status;
}

/* The marks of a process; false: there are none, or they cannot be read. */
static bool load_marks(const struct keeping *keeping, unsigned run, uint64_t process,
                       struct marks *marks)
{
    char path[PATH_MAX];

    path_of(keeping, run, process, path);
    if (marks_load(path, marks, NULL) == MP_OK)
        return true;
    marks_free(marks);
    return false;
}

static enum mp_status find_self(struct keeping *keeping)
{
    struct processes processes;

    MP_TRY(list_processes(keeping, keeping->runs->count, &processes));
    keeping->among = processes.count;
    keeping->number = SIZE_MAX;
    for (size_t i = 0; i < processes.count; i++)
        if (processes.items[i] == keeping->process)
            keeping->number = i;
    free(processes.items);
    return MP_OK;
}

/* ---- Steps ---- */

static enum mp_status add_rows(struct keeping *keeping, const struct marks_steps *steps,
                               unsigned run, bool bare)
{
    for (size_t i = 0; i < steps->count; i++) {
        MP_TRY(MP_RESERVE(keeping->rows, keeping->count, keeping->capacity));
        keeping->rows[keeping->count++] = (struct baseline_step){
            .duration = steps->items[i], .run = run, .recorded = !bare, .bare = bare};
    }
    *(bare ? &keeping->kept->bare : &keeping->kept->recorded) += steps->count;
    return MP_OK;
}

static enum mp_status take_steps(struct keeping *keeping, const struct marks *marks, unsigned run,
                                 bool bare)
{
    struct marks_steps steps = {.items = NULL};
    enum mp_status status =
        marks_find_steps(marks, &keeping->pattern, !keeping->runs->pairs && bare, &steps);

    if (!status)
        status = add_rows(keeping, &steps, run, bare);
    free(steps.items);
    return status;
}

/* The steps of another run, or none. */
static enum mp_status take_run(struct keeping *keeping, unsigned run)
{
    struct processes processes;
    struct marks marks;
    size_t before = keeping->count;
    enum mp_status status = list_processes(keeping, run, &processes);

    if (!status && processes.items && processes.count == keeping->among &&
        load_marks(keeping, run, processes.items[keeping->number], &marks)) {
        status = take_steps(keeping, &marks, run, run % 2 == 1);
        marks_free(&marks);
    }
    free(processes.items);
    keeping->kept->runs_without += keeping->count == before;
    return status;
}

static enum mp_status take_all(struct keeping *keeping, const struct marks *own)
{
    bool found;

    MP_TRY(marks_find_pattern(&keeping->study.deps, &keeping->study.study, own, &keeping->pattern,
                              &found));
    if (!found) {
        keeping->kept->why_not = "its iterations have no steps in common";
        return MP_OK;
    }
    if (!keeping->runs->pairs) {
        MP_TRY(take_steps(keeping, own, 0, true));
        return keeping->count ? take_steps(keeping, own, 0, false) : MP_OK;
    }
    for (unsigned run = 1; run < keeping->runs->count; run++)
        MP_TRY(take_run(keeping, run));
    return take_steps(keeping, own, keeping->runs->count, false);
}

/* ---- Rows ---- */

/* The number of a string that the trace does not have; 0 stands for none. */
static uint64_t next_string(const struct keeping *keeping)
{
    size_t count = keeping->study.deps.profile->definitions.strings.count;

    return count ? count : 1;
}

static void append_text(struct mp_writer *writer, uint64_t id, const char *text)
{
    mp_append_string(writer,
                     &(struct mp_row_string){.id = id, .text = {text, (uint32_t)strlen(text)}});
}

static enum mp_status append_rows(const struct keeping *keeping, int fd, struct mp_error *error)
{
    const struct mp_writer_options options = {.level = LEVEL};
    uint64_t name = next_string(keeping);
    struct mp_writer *writer;

    MP_TRY(mp_writer_resume(fd, keeping->trace, &options, &writer, error));
    append_text(writer, name, keeping->pattern.unit);
    for (size_t i = 0; i < keeping->count; i++)
        mp_append_step(writer, &(struct mp_row_step){.name = name,
                                                     .recorded = keeping->rows[i].recorded,
                                                     .duration = keeping->rows[i].duration,
                                                     .run = keeping->rows[i].run,
                                                     .bare = keeping->rows[i].bare});
    if (keeping->scale) {
        append_text(writer, name + 1, RECORDING_SCALE);
        mp_append_quality(writer,
                          &(struct mp_row_quality){.name = name + 1, .value = keeping->scale});
    }
    return mp_writer_close(writer, error);
}

/* How modelled costs are scaled to meet what the steps say. They are compared as shares, since an
 * iteration is not measured from the same moments as its marks. */
static enum mp_status find_scale(struct keeping *keeping)
{
    struct baseline baseline = {.steps = 0};

    MP_TRY(baseline_measure(keeping->rows, keeping->count, &baseline));
    const struct recording_cost cost = recording_cost_measured(&baseline);
    if (!recording_cost_is_bare(&cost) || !cost.of)
        return MP_OK;
    return recording_cost_fit(&keeping->study.deps, keeping->trace, &keeping->study.study, &cost,
                              &keeping->scale);
}

static enum mp_status write_rows(struct keeping *keeping, const char *path, struct mp_error *error)
{
    if (!keeping->kept->bare) {
        keeping->kept->why_not = NO_STEPS;
        return MP_OK;
    }
    MP_TRY(mp_error_from(error, find_scale(keeping), "cannot compare runs"));
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return mp_error_set(error, MP_ERR_IO, "cannot write: %m");
    return append_rows(keeping, fd, error);
}

/* ---- All of it ---- */

/* Whether it is worth while to analyse the trace. */
static bool may_have_steps(const struct keeping *keeping, const struct marks *own)
{
    size_t before = 0;

    for (size_t i = 0; i < own->count; i++)
        before += own->items[i].time < own->attached;
    return keeping->runs->pairs || (own->attached != UINT64_MAX && before >= BASELINE_MIN);
}

static enum mp_status keep_all(struct keeping *keeping, const char *path, struct mp_error *error)
{
    const struct trace_study_options options = {.graph.fronts = true, .no_cost = true};
    struct marks own;
    struct mp_index index;

    mp_trace_index(keeping->trace, &index);
    if (!index.present || !property_number(keeping->trace, "pid", UINT32_MAX, &keeping->process)) {
        keeping->kept->why_not = "the recorded run did not end normally";
        return MP_OK;
    }
    MP_TRY(find_self(keeping));
    if (keeping->number == SIZE_MAX ||
        !load_marks(keeping, keeping->runs->count, keeping->process, &own)) {
        keeping->kept->why_not = "the process left no marks of its steps";
        return MP_OK;
    }
    enum mp_status status = MP_OK;
    if (may_have_steps(keeping, &own))
        status = trace_study_load(keeping->trace, &options, &keeping->study, error);
    else
        keeping->kept->why_not = NO_STEPS;
    if (!status && !keeping->kept->why_not)
        status = mp_error_from(error, take_all(keeping, &own), "cannot compare runs");
    if (!status && !keeping->kept->why_not)
        status = write_rows(keeping, path, error);
    marks_free(&own);
    return status;
}

enum mp_status steps_keep(const char *path, const struct kept_runs *runs, struct kept_steps *kept,
                          struct mp_error *error)
{
    struct keeping keeping = {.runs = runs, .kept = kept};

    *kept = (struct kept_steps){.bare = 0};
    MP_TRY(mp_trace_open(path, &keeping.trace, error));
    enum mp_status status = keep_all(&keeping, path, error);
    marks_pattern_free(&keeping.pattern);
    trace_study_free(&keeping.study);
    mp_trace_close(keeping.trace);
    free(keeping.rows);
    return status;
}
