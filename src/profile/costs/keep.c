/* Keeps costs in the user's file. The new block comes first; blocks of other GPUs follow as long as
 * there is room, so that the oldest ones are forgotten. A reader finds the old file or the new one,
 * never a part.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/costs_file.h"
#include "base/data/buffer.h"
#include "base/io.h"
#include "profile/costs/costs.h"
#include "profile/costs/text.h"

#include "base/poison.h"

/* ---- The text ---- */

static bool is_name(const char *gpu)
{
    if (!*gpu || strlen(gpu) > 256)
        return false;
    for (; *gpu; gpu++) {
        if (*gpu < ' ' || *gpu > '~' || *gpu == ';')
            return false;
    }
    return true;
}

static bool append_new(struct mp_buffer *text, const struct costs_key *key,
                       const struct costs *costs)
{
    struct costs values = *costs;
    const char *name;
    double *value;

    mp_buffer_append_format(text, "gpu=%s\ndriver=%lu\ncupti=%lu\n", key->gpu, key->driver,
                            key->cupti);
    for (size_t i = 0; costs_at(&values, i, &name, &value, NULL); i++) {
        if (!(*value >= 0 && *value <= COSTS_GREATEST))
            return false;
        mp_buffer_append_format(text, "%s=%.1f\n", name, *value);
    }
    return true;
}

static void append_others(struct mp_buffer *text, const char *old, const struct costs_key *key)
{
    struct costs_piece block;

    while (costs_next_block(&old, &block)) {
        if (!costs_block_has_key(&block) || costs_block_is_of(&block, key))
            continue;
        if (text->size + block.bytes + 2 > MP_COSTS_BYTES)
            return;
        mp_buffer_append_byte(text, '\n');
        mp_buffer_append(text, block.begin, block.bytes);
        if (block.begin[block.bytes - 1] != '\n')
            mp_buffer_append_byte(text, '\n');
    }
}

/* ---- The file ---- */

/* mkostemp makes a file of a new name, never through a symbolic link, for the user only. */
static enum mp_status write_file(const char *path, const struct mp_buffer *text,
                                 struct mp_error *error)
{
    char temporary[PATH_MAX + 8];
    struct mp_error cause;
    enum mp_status status;
    int fd;

    MP_TRY(mp_make_folders(path, error));
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return mp_error_set(error, MP_ERR_IO, "cannot create '%.150s': %m", path);
    status = mp_write_all(fd, text->data, text->size, &cause);
    if (status != MP_OK)
        mp_error_set(error, status, "'%.150s': %s", path, cause.text);
    if (close(fd) != 0 && status == MP_OK)
        status = mp_error_set(error, MP_ERR_IO, "cannot write '%.150s': %m", path);
    if (status == MP_OK && rename(temporary, path) != 0)
        status = mp_error_set(error, MP_ERR_IO, "cannot replace '%.150s': %m", path);
    if (status != MP_OK)
        unlink(temporary);
    return status;
}

enum mp_status costs_keep(const struct costs_key *key, const struct costs *costs,
                          struct mp_error *error)
{
    struct mp_buffer text = {.limit = MP_COSTS_BYTES};
    char old[MP_COSTS_BYTES + 1];
    char path[PATH_MAX];
    enum mp_status status;

    if (!is_name(key->gpu))
        return mp_error_set(error, MP_ERR_IO, "the GPU's name cannot stand in a file of costs");
    if (!mp_costs_path(path, sizeof path))
        return mp_error_set(error, MP_ERR_IO,
                            "neither XDG_CACHE_HOME nor HOME is the path of a folder");
    if (!append_new(&text, key, costs)) {
        status = mp_error_set(error, MP_ERR_IO, "a cost is not from 0 to 10 ms");
    } else {
        if (mp_costs_read(old))
            append_others(&text, old, key);
        status = text.status ? mp_error_set(error, text.status, "no memory for the costs")
                             : write_file(path, &text, error);
    }
    mp_buffer_free(&text);
    return status;
}
