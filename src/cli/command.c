/* What all subcommands share: how they complain, how they open a trace, and how an error becomes
 * an exit code. Texts of a trace are made harmless here before a terminal sees them.
 */
#include "cli/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "base/text/foreign.h"
#include "cli/screen.h"
#include "cli/terminal.h"
#include "table/table.h"

#include "base/poison.h"

void complain(const char *command, const char *format, ...)
{
    va_list arguments;
    char *line = NULL;
    size_t bytes = 0;
    FILE *out = memory_file_open(&line, &bytes);

    progress_end();
    fflush(stdout);
    va_start(arguments, format);
    if (out) {
        fprintf(out, command ? "miniprof %s: " : "miniprof: ", command);
        foreign_print(out, format, arguments);
        fclose(out);
    }
    va_end(arguments);
    if (line)
        screen_complain(line, bytes);
    else
        fputs("miniprof: out of memory\n", stderr);
    free(line);
}

void say_path(const char *path)
{
    if (isatty(STDOUT_FILENO))
        foreign_put_text(stdout, path);
    else
        fputs(path, stdout);
    putchar('\n');
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
