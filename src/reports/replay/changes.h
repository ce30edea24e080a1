/* Changes, looked up by what they change; for replay.c. */
#ifndef MP_REPORTS_REPLAY_CHANGES_H
#define MP_REPORTS_REPLAY_CHANGES_H

#include "reports/replay/replay.h"

struct deps_resolved {
    const struct deps_change **by_name; /* NULL: as recorded; owned */
    const struct deps_change **by_part; /* by process, then part; NULL: as recorded; owned */
};

/* The last change of each name and part. MP_ERR_MEMORY. deps_resolved_free gives it back. */
enum mp_status deps_resolve(const struct deps *deps, const struct deps_changes *changes,
                            struct deps_resolved *resolved);
void deps_resolved_free(struct deps_resolved *resolved);

#endif
