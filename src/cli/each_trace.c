/* Reports each trace that a command line names on its own. All are listed first, because rows and
 * documents say whose they are only if there are several. The worst result is the exit code.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "cli/command.h"
#include "cli/report_streams.h"
#include "cli/trace_args.h"

#include "base/poison.h"

/* The files of the arguments, those of folders in their places. */
struct listing {
    const char **paths;
    size_t count, capacity;
    struct trace_set *folders; /* by argument; empty for files */
    struct trace_set labels;   /* of all of them, if there are several */
    int code;
};

static bool add_path(struct listing *listing, const char *path)
{
    if (mp_reserve((void **)&listing->paths, listing->count, &listing->capacity,
                   sizeof *listing->paths) != MP_OK)
        return false;
    listing->paths[listing->count++] = path;
    return true;
}

static bool add_folder(struct listing *listing, const char *command, char **folder,
                       struct trace_set *set)
{
    int code;
    bool opened = open_trace_set(command, 1, folder, set, &code);

    listing->code = worse_code(listing->code, code);
    for (size_t i = 0; opened && i < set->count; i++) {
        if (!add_path(listing, set->processes[i].path))
            return false;
    }
    return true;
}

/* What cannot be opened has no label; its report says why. */
static void fill_labels(struct listing *listing)
{
    struct mp_error error;

    if (listing->count > 1 &&
        trace_set_open(listing->paths, listing->count, &listing->labels, &error) != MP_OK)
        listing->labels = (struct trace_set){.count = 0};
}

static bool listing_open(struct listing *listing, const char *command, int count, char **arguments)
{
    bool fine = true;

    *listing = (struct listing){.code = EXIT_FINE};
    listing->folders = calloc((size_t)count, sizeof *listing->folders);
    for (int i = 0; listing->folders && fine && i < count; i++)
        fine = trace_set_is_folder(arguments[i])
                   ? add_folder(listing, command, &arguments[i], &listing->folders[i])
                   : add_path(listing, arguments[i]);
    if (listing->folders && fine)
        return true;
    complain(command, "out of memory");
    return false;
}

static void listing_free(struct listing *listing, int count)
{
    for (int i = 0; listing->folders && i < count; i++)
        trace_set_free(&listing->folders[i]);
    trace_set_free(&listing->labels);
    free(listing->folders);
    free(listing->paths);
}

/* What a trace is called among several: `rank 3`; the path of one that is listed twice. */
static const char *label_of(const struct listing *listing, const char *path)
{
    for (size_t i = 0; i < listing->labels.count; i++) {
        if (!strcmp(listing->labels.processes[i].path, path))
            return listing->labels.processes[i].label;
    }
    return path;
}

static int report_all(struct listing *listing, const char *command, struct report_out *out,
                      job_report_first *first, trace_report *report, void *context)
{
    bool several = listing->count > 1;
    int code = listing->code;

    if (out->format != REPORT_TEXT)
        fill_labels(listing);
    if (!report_streams_open(command, out, several))
        return EXIT_UNREADABLE;
    if (first) {
        report_streams_name(out, several ? "job" : NULL);
        code = worse_code(code, first(context));
    }
    for (size_t i = 0; i < listing->count; i++) {
        const char *path = listing->paths[i];

        report_streams_name(out, several ? label_of(listing, path) : NULL);
        code = worse_code(code, report_trace(command, path, report, context));
    }
    return report_streams_close(command, out, code);
}

int each_trace(const char *command, struct report_out *out, int count, char **arguments,
               trace_report *report, void *context)
{
    return job_and_each_trace(command, out, count, arguments, NULL, report, context);
}

int job_and_each_trace(const char *command, struct report_out *out, int count, char **arguments,
                       job_report_first *first, trace_report *report, void *context)
{
    struct listing listing;
    int code = EXIT_UNREADABLE;

    if (listing_open(&listing, command, count, arguments))
        code = report_all(&listing, command, out, first, report, context);
    listing_free(&listing, count);
    return code;
}
