/* A stream of libc (fopencookie) in front of a buffer. */
#include "base/data/memory_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/data/buffer.h"

#include "base/poison.h"

struct memory_file {
    struct mp_buffer buffer;
    char **text;
    size_t *bytes;
};

static ssize_t append(void *cookie, const char *data, size_t bytes)
{
    struct memory_file *file = cookie;

    if (!mp_buffer_append(&file->buffer, data, bytes))
        return (ssize_t)bytes;
    errno = ENOMEM;
    return 0; /* which makes an error of the stream, too */
}

/* Where it is; or to its begin. */
static int move(void *cookie, off64_t *offset, int whence)
{
    struct memory_file *file = cookie;

    if (*offset || whence == SEEK_END)
        return -1;
    if (whence == SEEK_SET)
        mp_buffer_clear(&file->buffer);
    *offset = (off64_t)file->buffer.size;
    return 0;
}

static int end(void *cookie)
{
    struct memory_file *file = cookie;
    bool failed = mp_buffer_append_byte(&file->buffer, '\0');

    if (failed) {
        mp_buffer_free(&file->buffer);
        errno = ENOMEM;
    } else {
        *file->text = (char *)file->buffer.data;
        *file->bytes = file->buffer.size - 1;
    }
    free(file);
    return failed ? -1 : 0;
}

FILE *memory_file_open(char **text, size_t *bytes)
{
    const cookie_io_functions_t functions = {.write = append, .seek = move, .close = end};
    struct memory_file *file = calloc(1, sizeof *file);
    FILE *stream = file ? fopencookie(file, "w", functions) : NULL;

    *text = NULL;
    *bytes = 0;
    if (!stream) {
        free(file);
        return NULL;
    }
    file->text = text;
    file->bytes = bytes;
    return stream;
}
