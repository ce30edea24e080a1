#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strings.h"
#include "nvprof.h"

#include "base/poison.h"

static bool is_program(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return false;
    errno = EACCES;
    return S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static bool find_in_path(const char *name, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");

    errno = ENOENT;
    while (folders && *folders && *name) {
        size_t bytes = strcspn(folders, ":");
        int length =
            snprintf(path, PATH_MAX, "%.*s%s%s", (int)bytes, folders, bytes ? "/" : "", name);

        if (length > 0 && length < PATH_MAX && is_program(path))
            return true;
        folders += bytes + (folders[bytes] != '\0');
    }
    return false;
}

bool nvprof_find_program(const char *name, char path[PATH_MAX])
{
    int length;

    if (strchr(name, '/'))
        return mp_text_copy(path, PATH_MAX, name) && is_program(path);
    if (find_in_path(name, path))
        return true;
    length = snprintf(path, PATH_MAX, "./%s", name);
    return *name && length < PATH_MAX && is_program(path);
}
