/* Names of CUDA's functions by CUPTI's callback id. The table (cbid_names.txt) is made from CUPTI's
 * headers by tools/dev/make_cbid_names; the program has it packed.
 */
#include "export/common/cbid_names.h"

#include <pthread.h>
#include <string.h>

#include "base/data/frame.h"

#include "base/poison.h"

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
    const char *at;

    pthread_once(&once, unpack);
    if (!all_names)
        return NULL;
    at = strstr(all_names, "\n\n") + 2;
    at = driver ? strstr(at, "\n\n") + 2 : at;
    while (*at && *at != '\n') {
        *bytes = strcspn(at, " \n");
        if (!cbid--)
            return *at == '-' ? NULL : at;
        at += *bytes + 1;
    }
    return NULL;
}
