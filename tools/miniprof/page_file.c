#include "page_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "command.h"

#include "base/poison.h"

static int cannot_write(const char *command, const char *path)
{
    complain(command, "cannot write '%s': %s", path, strerror(errno));
    return EXIT_UNREADABLE;
}

/* To the file `part`, and from there to `path`. */
static int write_beside(const char *command, const char *path, const char *part,
                        page_writer *writer, void *context)
{
    FILE *out = fopen(part, "we");
    int code;

    if (!out)
        return cannot_write(command, path);
    code = writer(context, out);
    if ((fflush(out) != 0 || ferror(out)) && code < EXIT_USAGE)
        code = cannot_write(command, path);
    fclose(out);
    if (code < EXIT_USAGE && rename(part, path) != 0)
        code = cannot_write(command, path);
    if (code >= EXIT_USAGE)
        unlink(part);
    return code;
}

int page_write(const char *command, const char *path, page_writer *writer, void *context)
{
    struct mp_buffer part = {.data = NULL};
    int code;

    if (!strcmp(path, "-"))
        return writer(context, stdout);
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
