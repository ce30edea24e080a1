/* Between the files of the digest: what is at hand while it is built, and who fills which part.
 *
 *     digest.c      runs the analyses; findings, names by time
 *     recording.c   what was recorded, and how whole it is
 *     latency.c     iterations, latency, where the time goes
 *     commands.c    command lines that look further
 */
#ifndef MP_REPORTS_DIGEST_BUILD_H
#define MP_REPORTS_DIGEST_BUILD_H

#include <string.h>

#include "reports/deps/deps.h"
#include "reports/digest/digest.h"
#include "reports/summary/summary.h"

/* What the analyses found; zeroed, it holds nothing. */
struct digest_material {
    struct mp_trace *trace;
    const struct digest_options *options;
    struct contents contents;
    struct studied studied;
    struct advice advice;
    struct summary summary;
};

/* Sets *copy to a copy of `text` that the digest owns; NULL stays NULL. MP_ERR_MEMORY. */
static inline enum mp_status digest_copy(struct digest *digest, const char *text, const char **copy)
{
    *copy = text ? mp_arena_copy(&digest->text, text, strlen(text)) : NULL;
    return text && !*copy ? MP_ERR_MEMORY : MP_OK;
}

enum mp_status digest_take_recording(const struct digest_material *material, struct digest *digest);
void digest_take_quality(const struct digest_material *material, struct digest *digest);
enum mp_status digest_take_iterations(const struct digest_material *material,
                                      struct digest *digest);

/* After all others. */
enum mp_status digest_take_commands(const struct digest_material *material, struct digest *digest);

#endif
