/* Names of CUDA's functions by CUPTI's callback id. The table (cbid_names.def) is generated from
 * CUPTI's headers by tools/dev/make_cbid_names.
 */
#include "export/common/cbid_names.h"

#include <string.h>

#include "export/common/cbid_names.def"

#include "base/poison.h"

const char *cbid_name(bool driver, uint64_t cbid, size_t *bytes)
{
    static const char runtime_names[] = CBID_RUNTIME_NAMES;
    static const char driver_names[] = CBID_DRIVER_NAMES;
    const char *at = driver ? driver_names : runtime_names;

    while (*at) {
        *bytes = strcspn(at, " ");
        if (!cbid--)
            return *at == '-' ? NULL : at;
        at += *bytes + 1;
    }
    return NULL;
}
