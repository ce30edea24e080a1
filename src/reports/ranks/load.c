/* Reads the traces of a job one after the other, so that only one is open, matches them, and joins
 * them into one event graph on demand.
 */
#include "reports/ranks/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "cli/command.h"
#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

static void worsen(const struct ranks_loading *loading, int code)
{
    *loading->code = worse_code(*loading->code, code);
}

/* `warnings` is by process; NULL: unwanted. */
static enum mp_status keep_warning(char **warnings, size_t process, const char *text)
{
    if (!warnings)
        return MP_OK;
    warnings[process] = strdup(text);
    return warnings[process] ? MP_OK : MP_ERR_MEMORY;
}

uint32_t ranks_rank_of(const struct trace_set *set, size_t process)
{
    uint64_t rank = set->processes[process].rank;

    return rank < RANKS_NONE ? (uint32_t)rank : (uint32_t)process;
}

/* *trace is NULL if it cannot be read. Without a complaint, only memory that is out is an error. */
static enum mp_status open_quietly(const struct ranks_loading *loading, size_t process,
                                   struct mp_trace **trace)
{
    const char *path = loading->set->processes[process].path;
    enum mp_status status = MP_OK;

    if (loading->quiet)
        status = mp_trace_open(path, trace, NULL);
    else
        *trace = open_trace(loading->command, path);
    if (status)
        *trace = NULL;
    return status == MP_ERR_MEMORY ? status : MP_OK;
}

static enum mp_status add_trace(const struct ranks_loading *loading, struct ranks *ranks,
                                struct mp_trace *trace, size_t process)
{
    const char *path = loading->set->processes[process].path;
    char text[QUALITY_TEXT_BYTES];
    struct quality quality;
    struct mp_error error;
    enum mp_status added = ranks_add(ranks, trace, (uint32_t)process,
                                     ranks_rank_of(loading->set, process), &quality, &error);
    enum mp_status status = MP_OK;

    if (added == MP_ERR_MEMORY && loading->quiet) {
        status = added;
    } else if (added) {
        worsen(loading,
               loading->quiet ? EXIT_UNREADABLE : fail_on_trace(loading->command, path, &error));
    } else if (*quality_describe(&quality, text, sizeof text)) {
        worsen(loading, EXIT_FINDINGS);
        status = keep_warning(loading->warnings, process, text);
    }
    quality_free(&quality);
    return status;
}

static bool is_passed_over(const struct ranks_loading *loading, struct mp_trace *trace)
{
    bool has_calls = true;

    return loading->quick &&
           (reading_has_rows(trace, MP_TABLE_collective, &has_calls, NULL) != MP_OK || !has_calls);
}

static enum mp_status add_process(const struct ranks_loading *loading, struct ranks *ranks,
                                  size_t process)
{
    struct mp_trace *trace;
    enum mp_status status = MP_OK;

    MP_TRY(open_quietly(loading, process, &trace));
    if (!trace) {
        worsen(loading, EXIT_UNREADABLE);
        return keep_warning(loading->warnings, process, "it could not be read and is left out");
    }
    if (!is_passed_over(loading, trace))
        status = add_trace(loading, ranks, trace, process);
    mp_trace_close(trace);
    return status;
}

enum mp_status ranks_load(const struct ranks_loading *loading, struct ranks *ranks)
{
    ranks_init(ranks);
    for (size_t i = 0; i < loading->set->count; i++)
        MP_TRY(add_process(loading, ranks, i));
    return ranks_finish(ranks, loading->set);
}

/* ---- The traces of a job: opened, matched, and on demand joined into one event graph ---- */

void matched_worsen(struct matched *matched, int code)
{
    matched->code = worse_code(matched->code, code);
}

/* The user says that there is one clock. */
static void join_clocks(struct trace_set *traces)
{
    for (size_t i = 0; i < traces->count; i++) {
        traces->processes[i].clock_number = 0;
        traces->processes[i].offset = traces->processes[0].offset;
    }
    traces->clock_count = traces->count ? 1 : 0;
    traces->first_time = 0;
    for (size_t i = 0; i < traces->count; i++) {
        uint64_t first = traces->processes[i].first_time + traces->processes[i].offset;

        if (traces->processes[i].first_time && (!traces->first_time || first < traces->first_time))
            traces->first_time = first;
    }
}

/* ---- Who waited ---- */

static enum mp_status note_wait(struct matched *matched, const struct ranks_side *side)
{
    struct peer_waits *waits = &matched->peers[side->process];

    MP_TRY(
        MP_RESERVE(waits->items, waits->count, waits->capacity)); /* also of one that never did */
    if (side->waiting)
        waits->items[waits->count++] =
            (struct peer_wait){side->recorded, side->end - side->start, side->waiting};
    return MP_OK;
}

static enum mp_status note_waits(struct matched *matched)
{
    matched->peers = calloc(matched->traces.count + 1, sizeof *matched->peers);
    if (!matched->peers)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < matched->ranks.side_count; i++)
        MP_TRY(note_wait(matched, &matched->ranks.sides[i]));
    for (size_t i = 0; i < matched->traces.count; i++)
        peer_waits_sort(&matched->peers[i]);
    return MP_OK;
}

const struct peer_waits *matched_peers(const struct matched *matched, const char *path)
{
    for (size_t i = 0; matched->peers && path && i < matched->traces.count; i++) {
        if (!strcmp(matched->traces.processes[i].path, path))
            return matched->peers[i].items ? &matched->peers[i] : NULL;
    }
    return NULL;
}

static enum mp_status match_traces(struct matched *matched, bool one_clock, bool quiet)
{
    ranks_init(&matched->ranks);
    matched->one_clock = one_clock;
    matched->warnings = calloc(matched->traces.count, sizeof *matched->warnings);
    if (!matched->warnings)
        return MP_ERR_MEMORY;
    if (one_clock)
        join_clocks(&matched->traces);
    MP_TRY(ranks_load(&(struct ranks_loading){.command = matched->command,
                                              .set = &matched->traces,
                                              .quiet = quiet,
                                              .warnings = matched->warnings,
                                              .code = &matched->code},
                      &matched->ranks));
    return note_waits(matched);
}

bool matched_open(struct matched *matched, const char *command, int count, char **arguments,
                  bool one_clock)
{
    *matched = (struct matched){.command = command, .code = EXIT_FINE};
    if (!open_trace_set(command, count, arguments, &matched->traces, &matched->code))
        return false;
    if (match_traces(matched, one_clock, false) == MP_OK)
        return true;
    complain(command, "cannot match the traces: out of memory");
    matched->code = EXIT_UNREADABLE;
    return false;
}

void matched_free(struct matched *matched)
{
    for (size_t i = 0; matched->warnings && i < matched->traces.count; i++)
        free(matched->warnings[i]);
    free(matched->warnings);
    matched->warnings = NULL;
    for (size_t i = 0; matched->peers && i < matched->traces.count; i++)
        free(matched->peers[i].items);
    free(matched->peers);
    matched->peers = NULL;
    ranks_free(&matched->ranks);
    trace_set_free(&matched->traces);
}

void matched_judge(struct matched *matched)
{
    const struct ranks_unmatched *unmatched = &matched->ranks.unmatched;

    if (unmatched->unnamed || unmatched->without_kernel || unmatched->unclaimed_kernels ||
        unmatched->duplicate_ranks || unmatched->shifted || unmatched->different ||
        unmatched->partial)
        matched_worsen(matched, EXIT_FINDINGS);
}

struct ranks_report matched_report(const struct matched *matched)
{
    return (struct ranks_report){.set = &matched->traces,
                                 .ranks = &matched->ranks,
                                 .warnings = (const char *const *)matched->warnings,
                                 .one_clock = matched->one_clock};
}

bool matched_is_job(struct matched *matched, const char *command, int count, char **arguments,
                    bool one_clock)
{
    const char *const *paths = (const char *const *)arguments;
    struct mp_error error;

    *matched = (struct matched){.command = command, .code = EXIT_FINE};
    if (count != 1 || !trace_set_is_folder(arguments[0]))
        return false;
    enum mp_status status = trace_set_open(paths, 1, &matched->traces, &error);
    if (status == MP_OK && matched->traces.count > 1)
        status = match_traces(matched, one_clock, true);
    if (status == MP_OK && matched->ranks.instance_count) {
        matched_judge(matched);
        return true;
    }
    if (status == MP_ERR_MEMORY)
        complain(command, "cannot match the traces: out of memory");
    matched->code = status == MP_ERR_MEMORY ? EXIT_UNREADABLE : EXIT_FINE;
    matched_free(matched);
    return false;
}

void matched_complain(struct matched *matched)
{
    matched_worsen(matched, complain_of_problems(matched->command, &matched->traces));
}

/* ---- The ranks of a job ----
 *
 * A launcher numbers them. Where two processes have the same number, as if there was no launcher,
 * NCCL's numbers in the largest communicator are taken, else those of the set.
 */

static bool are_distinct(const struct trace_set *traces)
{
    for (size_t i = 0; i < traces->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (ranks_rank_of(traces, i) == ranks_rank_of(traces, k))
                return false;
        }
    }
    return true;
}

static uint32_t rank_in_nccl(const struct matched *matched, size_t process)
{
    const struct ranks *ranks = &matched->ranks;
    const struct ranks_communicator *largest = ranks->communicators;

    for (size_t i = 0; i < ranks->communicator_count; i++) {
        if (ranks->communicators[i].member_count > largest->member_count)
            largest = &ranks->communicators[i];
    }
    if (largest->member_count < matched->traces.count || largest->by_order)
        return (uint32_t)process;
    for (size_t i = 0; i < largest->member_count; i++) {
        if (ranks->members[largest->first_member + i].process == process)
            return ranks->members[largest->first_member + i].rank;
    }
    return (uint32_t)process;
}

static uint32_t rank_in_job(const struct matched *matched, size_t process)
{
    return are_distinct(&matched->traces) ? ranks_rank_of(&matched->traces, process)
                                          : rank_in_nccl(matched, process);
}

/* ---- One graph ---- */

static enum mp_status join_process(struct matched *matched, const struct deps_options *options,
                                   struct job *job, size_t process, struct mp_error *error)
{
    const char *path = matched->traces.processes[process].path;
    struct mp_trace *trace = open_trace(matched->command, path);
    struct quality quality = {0};

    if (!trace) {
        matched_worsen(matched, EXIT_UNREADABLE);
        return MP_OK;
    }
    enum mp_status status = job_add(job, trace, (uint32_t)process, rank_in_job(matched, process),
                                    options, &quality, error);
    quality_free(&quality);
    mp_trace_close(trace);
    if (status == MP_ERR_IO) {
        matched_worsen(matched, fail_on_trace(matched->command, path, error));
        status = MP_OK;
    }
    return status;
}

/* Its report says which processes are not part of the job. */
static enum mp_status leave_out(struct matched *matched, size_t process)
{
    matched_worsen(matched, EXIT_FINDINGS);
    if (matched->warnings[process])
        return MP_OK;
    return keep_warning(matched->warnings, process,
                        "none of its operations of NCCL matched: it is not part of the job");
}

enum mp_status matched_join(struct matched *matched, const struct deps_options *options,
                            struct job *job, struct mp_error *error)
{
    enum mp_status status = job_init(job, &matched->traces, &matched->ranks);

    for (size_t i = 0; i < matched->traces.count && status == MP_OK; i++) {
        if (!job_has(job, (uint32_t)i)) {
            status = leave_out(matched, i);
            continue;
        }
        status = join_process(matched, options, job, i, error);
        if (status != MP_OK)
            return status;
    }
    if (status == MP_OK)
        status = job_link(job);
    return mp_error_from(error, status, "cannot join the ranks");
}

struct mp_trace *matched_open_process(struct matched *matched, const struct job *job,
                                      uint32_t process)
{
    const uint32_t in_set = job_process(job, process);
    struct mp_trace *trace = open_trace(matched->command, matched->traces.processes[in_set].path);

    if (!trace)
        matched_worsen(matched, EXIT_UNREADABLE);
    return trace;
}

static enum mp_status find_iterations(struct mp_trace *trace, const struct iterations_options *by,
                                      struct deps_windows *windows, struct mp_error *error)
{
    const struct deps_options options = {.fronts = false};
    struct iterations found;
    struct deps deps;

    MP_TRY(deps_load(trace, &options, &deps, error));
    enum mp_status status = iterations_find(&deps, trace, by, &found, error);
    if (status == MP_OK) {
        status = iterations_windows(&deps, &found, windows);
        if (status != MP_OK)
            mp_error_set(error, status, "cannot analyse it: %s", mp_status_name(status));
        iterations_free(&found);
    }
    deps_free(&deps);
    return status;
}

enum mp_status matched_iterations(struct matched *matched, const struct job *job,
                                  const struct iterations_options *by, struct deps_windows *windows,
                                  struct mp_error *error)
{
    struct mp_trace *trace = matched_open_process(matched, job, 0);

    *windows = (struct deps_windows){.items = NULL};
    if (!trace)
        return mp_error_set(error, MP_ERR_IO, "the first rank's trace cannot be read again");
    enum mp_status status = find_iterations(trace, by, windows, error);
    mp_trace_close(trace);
    if (status == MP_OK && job_place_windows(job, 0, windows) != MP_OK)
        return mp_error_set(error, MP_ERR_MEMORY, "cannot analyse the job: out of memory");
    return status;
}

/* ---- Why ranks were late ---- */

/* Reads a trace once more, for its critical paths. */
static enum mp_status follow_process(struct matched *matched, struct lateness *lateness,
                                     size_t process)
{
    const char *path = matched->traces.processes[process].path;
    struct mp_trace *trace = open_trace(matched->command, path);
    struct mp_error error;

    if (!trace) {
        matched_worsen(matched, EXIT_UNREADABLE);
        return MP_OK;
    }
    enum mp_status status = lateness_add(lateness, trace, process, &error);
    if (status != MP_OK && status != MP_ERR_MEMORY)
        matched_worsen(matched, fail_on_trace(matched->command, path, &error));
    mp_trace_close(trace);
    return status == MP_ERR_MEMORY ? status : MP_OK;
}

enum mp_status matched_follow(struct matched *matched, struct lateness *lateness)
{
    MP_TRY(lateness_init(lateness, &matched->ranks, matched->traces.count));
    for (size_t i = 0; i < matched->traces.count; i++) {
        if (lateness_asks(lateness, i))
            MP_TRY(follow_process(matched, lateness, i));
    }
    return lateness_finish(lateness);
}
