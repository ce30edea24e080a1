/* A stream in front of stdout that keeps what is written to it. */
#include "cli/hold.h"

#include <stdio.h>

#include "base/data/storage.h"

#include "base/poison.h"

static struct {
    FILE *to; /* stdout; NULL: nothing is held */
    const bool *open;
    struct mp_buffer kept;
} hold;

static bool pass_on(void)
{
    bool written =
        !hold.kept.size || fwrite(hold.kept.data, 1, hold.kept.size, hold.to) == hold.kept.size;

    mp_buffer_free(&hold.kept);
    return written;
}

static ssize_t take(void *cookie, const char *text, size_t bytes)
{
    (void)cookie;
    if (!*hold.open && mp_buffer_append(&hold.kept, text, bytes) == MP_OK)
        return (ssize_t)bytes;
    return pass_on() ? (ssize_t)fwrite(text, 1, bytes, hold.to) : 0;
}

void hold_begin(const bool *open)
{
    FILE *front = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});

    if (!front)
        return;
    hold.to = stdout;
    hold.open = open;
    stdout = front;
}

void hold_end(bool wanted)
{
    if (!hold.to)
        return;
    fclose(stdout);
    stdout = hold.to;
    if (wanted)
        pass_on();
    mp_buffer_free(&hold.kept);
    hold.to = NULL;
}
