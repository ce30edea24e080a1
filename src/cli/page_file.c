/* Writes a page that is either complete or not there. It goes to a file beside the target and is
 * renamed at the end; a signal on the way removes the file.
 */
#include "cli/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/endings.h"

#include "base/poison.h"

#define TRACE_SUFFIX ".mpt"
#define MAGIC_BYTES  16 /* docs/trace-format.md, 3 */

/* ---- What must not be lost ---- */

static bool has_suffix(const char *path)
{
    size_t length = strlen(path);

    return length >= strlen(TRACE_SUFFIX) &&
           !strcmp(path + length - strlen(TRACE_SUFFIX), TRACE_SUFFIX);
}

/* Whatever it is called. */
static bool holds_trace(const char *path)
{
    char magic[MAGIC_BYTES] = "";
    FILE *file = fopen(path, "re");
    size_t bytes = file ? fread(magic, 1, sizeof magic, file) : 0;

    if (file)
        fclose(file);
    return bytes == sizeof magic && !memcmp(magic + 8, "MPTRACE", 8);
}

/* ---- What must not be left ---- */

static const char *unfinished; /* the file that a signal removes */

/* SA_RESETHAND has restored the default action, which the signal raised here triggers. */
static void on_end(int number)
{
    unlink(unfinished);
    raise(number);
}

/* ---- Writing ---- */

static int write_to(const char *command, const char *path, FILE *out, page_writer *writer,
                    void *context)
{
    int code;

    if (!out)
        return cannot_write(command, path);
    code = writer(context, out);
    if ((fflush(out) != 0 || ferror(out)) && code < EXIT_USAGE)
        code = cannot_write(command, path);
    if (fclose(out) != 0 && code < EXIT_USAGE)
        code = cannot_write(command, path);
    return code;
}

/* Writes to the new file `part`, then renames it to `path`. */
static int write_beside(const char *command, const char *path, const char *part,
                        page_writer *writer, void *context)
{
    struct sigaction before[ENDINGS];
    FILE *out;
    int code;

    unfinished = part;
    endings_guard(before, on_end);
    out = mp_output_stream(part, O_EXCL);
    if (out)
        mp_keep_mode(fileno(out), AT_FDCWD, path);
    code = write_to(command, path, out, writer, context);
    if (code < EXIT_USAGE && rename(part, path) != 0)
        code = cannot_write(command, path);
    if (out && code >= EXIT_USAGE)
        unlink(part);
    endings_release(before);
    return code;
}

static int replace(const char *command, const char *path, page_writer *writer, void *context)
{
    struct mp_buffer part = {.data = NULL};
    int code;

    mp_buffer_append_format(&part, "%s.%d.part", path, (int)getpid());
    if (mp_buffer_append_byte(&part, '\0') != MP_OK) {
        complain(command, "out of memory");
        code = EXIT_UNREADABLE;
    } else {
        code = write_beside(command, path, (const char *)part.data, writer, context);
    }
    mp_buffer_free(&part);
    return code;
}

int page_write(const char *command, const char *path, page_writer *writer, void *context)
{
    struct stat found;
    char *target;
    int code;

    if (!strcmp(path, "-"))
        return writer(context, stdout);
    if (has_suffix(path)) {
        complain(command, "the output wants another name: '%s' is one of a trace", path);
        return EXIT_USAGE;
    }
    if (lstat(path, &found) != 0)
        return replace(command, path, writer, context);
    if (stat(path, &found) != 0 || !S_ISREG(found.st_mode))
        return write_to(command, path, mp_output_stream(path, O_TRUNC), writer, context);
    if (holds_trace(path)) {
        complain(command, "the output wants another name: '%s' is a trace", path);
        return EXIT_USAGE;
    }
    target = realpath(path, NULL);
    code = target ? replace(command, target, writer, context) : cannot_write(command, path);
    free(target);
    return code;
}
