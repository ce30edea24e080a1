/* The order of NVTX ranges in tables: by thread, domain and name; ranges of no domain come first.
 */
#include <string.h>

#include "reports/nvtx/result.h"

#include "base/poison.h"

int nvtx_key_compare(struct nvtx_key left, struct nvtx_key right)
{
    if (left.thread != right.thread)
        return left.thread < right.thread ? -1 : 1;
    if (!left.domain != !right.domain)
        return left.domain ? -1 : 1;
    int domains = left.domain ? strcmp(left.domain, right.domain) : 0;
    return domains ? domains : strcmp(left.name, right.name);
}
