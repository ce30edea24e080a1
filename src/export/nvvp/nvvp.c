/* What needs no SQLite. A build without SQLite has only this file of the folder, and
 * ../no_sqlite.c.
 */
#include "export/nvvp/nvvp.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "base/io.h"
#include "export/nvvp/schema.h"

#include "base/poison.h"

bool nvvp_is(const char *path)
{
    static const char magic[] = "SQLite format 3"; /* its NUL is part of it */
    char bytes[sizeof magic];
    uint64_t size;
    int fd;

    if (mp_open_file(path, &fd, &size, NULL) != MP_OK)
        return false;
    bool is = mp_pread_exact(fd, bytes, sizeof bytes, 0, NULL) == MP_OK &&
              memcmp(bytes, magic, sizeof magic) == 0;
    close(fd);
    return is;
}

/* ---- Names of CUDA's functions by CUPTI's callback id ---- */

/* The table (cbid_names.txt) is made from CUPTI's headers by tools/dev/make_cbid_names; the program
 * has it packed. */

extern const unsigned char cbid_frame[];
extern const size_t cbid_frame_bytes;

static char *all_names; /* kept; NULL: out of memory */

static void unpack(void)
{
    size_t bytes;

    all_names = mp_frame_unpack(cbid_frame, cbid_frame_bytes, &bytes);
}

const char *cbid_name(bool driver, uint64_t cbid, size_t *bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, unpack);
    if (!all_names)
        return NULL;
    const char *at = strstr(all_names, "\n\n") + 2;
    at = driver ? strstr(at, "\n\n") + 2 : at;
    while (*at && *at != '\n') {
        *bytes = strcspn(at, " \n");
        if (!cbid--)
            return *at == '-' ? NULL : at;
        at += *bytes + 1;
    }
    return NULL;
}
