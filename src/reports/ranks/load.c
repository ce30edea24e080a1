/* Reads the traces of a job one after the other, so that only one is open.
 */
#include "reports/ranks/load.h"

#include <string.h>

#include "cli/command.h"
#include "cli/trace_args.h"
#include "profile/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

static void worsen(const struct ranks_loading *loading, int code)
{
    *loading->code = worse_code(*loading->code, code);
}

static enum mp_status keep_warning(const struct ranks_loading *loading, size_t process,
                                   const char *text)
{
    if (!loading->warnings)
        return MP_OK;
    loading->warnings[process] = strdup(text);
    return loading->warnings[process] ? MP_OK : MP_ERR_MEMORY;
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
        status = keep_warning(loading, process, text);
    }
    quality_free(&quality);
    return status;
}

static bool is_passed_over(const struct ranks_loading *loading, struct mp_trace *trace)
{
    bool told = true;

    return loading->quick &&
           (reading_has_rows(trace, MP_TABLE_collective, &told, NULL) != MP_OK || !told);
}

static enum mp_status add_process(const struct ranks_loading *loading, struct ranks *ranks,
                                  size_t process)
{
    struct mp_trace *trace;
    enum mp_status status = MP_OK;

    MP_TRY(open_quietly(loading, process, &trace));
    if (!trace) {
        worsen(loading, EXIT_UNREADABLE);
        return keep_warning(loading, process, "it could not be read and is left out");
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
