/* nvprof's readers pair the two rows of an NVTX range by a number that both have. Rows that end a
 * range get the number of the row that began it, and all others the next one.
 */
#include "export/nvvp/markers.h"

#include "base/poison.h"

enum mp_status nvvp_markers_number(struct nvvp_markers *markers, const struct nvtx_event *event,
                                   uint64_t *number)
{
    if (nvtx_match_end(&markers->match, event, number))
        return MP_OK;
    *number = ++markers->last;
    return nvtx_match_begin(&markers->match, event, *number);
}

void nvvp_markers_free(struct nvvp_markers *markers)
{
    nvtx_match_free(&markers->match);
}
