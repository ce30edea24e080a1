/* Finds and reads the user's file of recording costs: bounded, and plain text or nothing. */
#include "base/costs_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"

#include "base/poison.h"

#define PLACE "miniprof/recording-costs"

static bool compose(char *path, size_t size, const char *variable, const char *below)
{
    const char *folder = secure_getenv(variable);
    int length;

    if (!folder || *folder != '/')
        return false;
    length = snprintf(path, size, "%s/%s" PLACE, folder, below);
    return length > 0 && (size_t)length < size;
}

bool mp_costs_path(char *path, size_t size)
{
    return compose(path, size, "XDG_CACHE_HOME", "") || compose(path, size, "HOME", ".cache/");
}

static bool is_plain(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] != '\n' && (text[i] < ' ' || text[i] > '~'))
            return false;
    }
    return true;
}

bool mp_costs_read(char text[MP_COSTS_BYTES + 1])
{
    char path[4096];
    uint64_t bytes;
    bool whole;
    int fd;

    if (!mp_costs_path(path, sizeof path) || mp_open_file(path, &fd, &bytes, NULL) != MP_OK)
        return false;
    whole = bytes > 0 && bytes <= MP_COSTS_BYTES &&
            mp_pread_exact(fd, text, (size_t)bytes, 0, NULL) == MP_OK;
    close(fd);
    if (!whole || !is_plain(text, (size_t)bytes))
        return false;
    text[bytes] = '\0';
    return true;
}
