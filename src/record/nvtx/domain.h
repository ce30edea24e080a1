/* What an application registers with NVTX and then refers to by handle: domains and strings. */
#ifndef MP_RECORD_NVTX_DOMAIN_H
#define MP_RECORD_NVTX_DOMAIN_H

#include "record/nvtx/text.h"

/* Zeroed memory that is never freed, aligned to 8; NULL when NVTX_PERMANENT_BYTES are used up. The
 * caller holds nvtx_state.lock. */
void *nvtx_permanent(size_t bytes) NVTX_HIDDEN;

/* The domain of that name, made if new. One name is one domain, whichever library asks. NULL, the
 * default domain, if there is no name or no memory, or in a forked child. */
struct nvtx_domain *nvtx_domain_intern(struct nvtx_text name) NVTX_HIDDEN;

/* The string registered in that domain, made if new, or NULL. Any length. */
struct nvtx_string *nvtx_string_intern(const struct nvtx_domain *domain,
                                       struct nvtx_text text) NVTX_HIDDEN;

#endif
