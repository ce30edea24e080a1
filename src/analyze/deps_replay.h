/* What-if: the recorded run as equations, solved forward with other durations.
 * docs/dependency-analysis.md, section 6, is the definition.
 */
#ifndef MP_ANALYZE_DEPS_REPLAY_H
#define MP_ANALYZE_DEPS_REPLAY_H

#include "analyze/deps.h"

enum deps_change_kind {
    DEPS_SCALE, /* times `factor` */
    DEPS_ADD,   /* plus `ns`, not below 0 */
    DEPS_SET_TO /* `ns` */
};

struct deps_change {
    char *pattern; /* owned by deps_changes */
    enum deps_change_kind kind;
    double factor;
    int64_t ns;
};

struct deps_changes {
    struct deps_change *items;
    size_t count;
    size_t capacity;
};

/* Takes `NAME=0.5x`, `NAME=-10us`, `NAME=+10us`, `NAME=20us` or `NAME=0` in; the last = divides.
 * MP_ERR_ARGUMENT with a line that says what is wrong. */
enum mp_status deps_changes_add(struct deps_changes *changes, const char *text,
                                struct mp_error *error);

void deps_changes_free(struct deps_changes *changes);

/* The first change that matches no activity and no part, or NULL. */
const struct deps_change *deps_changes_unmatched(const struct deps_changes *changes,
                                                 const struct deps *deps);

/* Lengths of the windows in the new run, ns, into lengths[windows->count]. Needs
 * deps_options.fronts. MP_ERR_MEMORY. */
enum mp_status deps_replay(const struct deps *deps, const struct deps_changes *changes,
                           const struct deps_windows *windows, uint64_t *lengths);

struct deps_gain {
    uint32_t name;     /* in deps->names */
    uint64_t critical; /* ns, of all windows together */
    uint64_t gain;     /* ns: windows before less windows after, if it were twice as fast */
};

/* The `most` activities (by name) that gain most if they are twice as fast, greatest first, into
 * `gains`; *found says how many there are. `result` is that of the windows. MP_ERR_MEMORY. */
enum mp_status deps_top_gains(const struct deps *deps, const struct deps_windows *windows,
                              const struct deps_result *result, struct deps_gain *gains,
                              size_t most, size_t *found);

#endif
