/* What all subcommands share: how they complain, how they open a trace, and how an error becomes
 * an exit code. Texts of a trace are made harmless here before a terminal sees them.
 */
#include "common/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/table/table.h"
#include "screen/progress.h"
#include "screen/screen.h"

#include "base/poison.h"

void complain(const char *command, const char *format, ...)
{
    va_list arguments;
    char *text;

    char *line = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&line, &bytes);

    progress_end();
    fflush(stdout);
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    if (out) {
        fprintf(out, command ? "miniprof %s: " : "miniprof: ", command);
        /* File names, and texts of the profiled process, are not trusted. */
        report_put_visible_text(out, text ? text : "out of memory");
        fclose(out);
        screen_complain(line, bytes);
    }
    free(line);
    free(text);
}

struct mp_trace *open_trace(const char *command, const char *path)
{
    struct mp_trace *trace;
    struct mp_error error;

    if (mp_trace_open(path, &trace, &error) == MP_OK)
        return trace;
    complain(command, "%s", error.text);
    return NULL;
}

int fail_on_trace(const char *command, const char *path, const struct mp_error *error)
{
    complain(command, "'%s': %s", path, error->text);
    return error->status == MP_ERR_ARGUMENT ? EXIT_USAGE : EXIT_UNREADABLE;
}

const char *only_trace(const char *command, int count, char **arguments)
{
    if (count == 1)
        return arguments[0];
    complain(command,
             count ? "takes one trace; 'miniprof help %s' says more"
                   : "which trace? 'miniprof %s TRACE.mpt'",
             command);
    return NULL;
}
