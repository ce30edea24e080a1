/* The functions that need no SQLite. A build without SQLite has only this file and none.c. */
#include "export/nvvp/nvvp.h"

#include <string.h>
#include <unistd.h>

#include "base/io.h"

#include "base/poison.h"

bool nvvp_is(const char *path)
{
    static const char magic[] = "SQLite format 3"; /* its NUL is part of it */
    char bytes[sizeof magic];
    uint64_t size;
    bool is;
    int fd;

    if (mp_open_file(path, &fd, &size, NULL) != MP_OK)
        return false;
    is = mp_pread_exact(fd, bytes, sizeof bytes, 0, NULL) == MP_OK &&
         memcmp(bytes, magic, sizeof magic) == 0;
    close(fd);
    return is;
}
