/* What-if: the recorded run as equations, solved again with other durations.
 * docs/dependency-analysis.md, section 6, has the definition.
 */
#ifndef MP_REPORTS_REPLAY_REPLAY_H
#define MP_REPORTS_REPLAY_REPLAY_H

#include "reports/deps/deps.h"

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

/* Adds a change written as `NAME=0.5x`, `NAME=-10us`, `NAME=+10us`, `NAME=20us` or `NAME=0`; the
 * last = divides. MP_ERR_ARGUMENT with a line that says what is wrong. */
enum mp_status deps_changes_add(struct deps_changes *changes, const char *text,
                                struct mp_error *error);

void deps_changes_free(struct deps_changes *changes);

/* A time after a change, which may be NULL. */
uint64_t deps_changed(const struct deps_change *change, uint64_t ns);

/* The first change that matches no activity and no part, or NULL. */
const struct deps_change *deps_changes_unmatched(const struct deps_changes *changes,
                                                 const struct deps *deps);

/* The words for the parts of the path, for messages; NULL from the first index without one. */
const char *deps_changes_word(size_t index);

/* Lengths of the windows in the new run, ns, into lengths[windows->count]. Needs
 * deps_options.fronts. MP_ERR_MEMORY. */
enum mp_status deps_replay(const struct deps *deps, const struct deps_changes *changes,
                           const struct deps_windows *windows, uint64_t *lengths);

/* Which run gains are of: in words, and as a key of JSON. Static. */
const char *deps_basis_text(bool without_recording);
const char *deps_basis_key(bool without_recording);

/* Whether a change is of what recording costs. */
bool deps_change_is_of_recording(const struct deps_change *change);

/* What a change gains, and of which run. */
struct deps_what_if {
    uint64_t *before; /* by window, ns: without the change, but on the same basis; owned, as is: */
    uint64_t *after;
    bool without_recording; /* both runs lack what recording costs; else the first is as recorded */
};

/* The basis is the run without what recording costs, if that is known and no change is of it. No
 * window of it is longer than as recorded, but for those that begin before the one ahead of them in
 * their thread has ended: so much is taken off both. MP_ERR_MEMORY; deps_what_if_free in any case.
 */
enum mp_status deps_what_if(const struct deps *deps, const struct deps_changes *changes,
                            const struct deps_windows *windows, struct deps_what_if *what_if);

/* The recorded run, with room for the lengths after a change. As deps_what_if. */
enum mp_status deps_what_if_new(const struct deps_windows *windows, struct deps_what_if *what_if);
void deps_what_if_free(struct deps_what_if *what_if);

/* ---- Changes of single activities ---- */

/* What changes at a single activity, in addition to the changes by name. */
enum deps_edit {
    DEPS_EDIT_NO_TIME = 1, /* work, or a call's own time, takes no time */
    DEPS_EDIT_SCALED =
        2, /* work, or a call's own time, is multiplied by the factor of deps_edits */
    DEPS_EDIT_NO_WAIT = 4,    /* a call: waits for no work: no synchronisation */
    DEPS_EDIT_NO_HOST = 8,    /* a call: the host code before it is removed, except host_kept */
    DEPS_EDIT_NO_LAUNCH = 16, /* work: the lag of its launch is 0, */
    DEPS_EDIT_NO_GAP = 32,    /* the lags of its predecessors are 0, */
    DEPS_EDIT_NO_CROSS = 64   /* predecessors in other lanes do not count */
};

struct deps_edits {
    const uint8_t *flags; /* by activity: enum deps_edit; of calls by piece */
    double factor;
    /* In place of `factor`, that of one activity; NULL: `factor`. */
    double (*factor_of)(const void *context, uint32_t activity);
    /* How much of the host code before a piece with NO_HOST remains, ns; NULL: nothing. */
    uint64_t (*host_kept)(const void *context, uint32_t piece);
    const void *context;
};

/* A graph that is replayed many times. Memory: 4 and 8 bytes for each activity, each piece of a
 * call and each front. */
struct deps_replayer {
    const struct deps *deps;
    uint32_t *points; /* in the order in which they are solved; owned */
    uint32_t point_count;
    uint64_t *moments; /* by point: the new run; owned */
    const struct deps_edits *edits;
    const struct deps_less *less; /* what is gone in every run; set by the caller; NULL: nothing */
};

/* Needs deps_options.fronts. MP_ERR_MEMORY; deps_replayer_free in any case. */
enum mp_status deps_replayer_init(struct deps_replayer *replayer, const struct deps *deps);
void deps_replayer_free(struct deps_replayer *replayer);

/* Solves the equations; `edits` NULL: as recorded. The functions below answer for this run as long
 * as `edits` stay unchanged. MP_ERR_MEMORY. */
enum mp_status deps_replayer_run(struct deps_replayer *replayer, const struct deps_edits *edits);

/* When a device activity ends in the new run, and where a moment of a thread lies in it. With
 * `ends` the moment is the end of a window: as much host code follows the call before it as was
 * recorded. Otherwise it is the begin of a window: as much host code precedes the next call. */
uint64_t deps_replayer_end(const struct deps_replayer *replayer, uint32_t activity);
uint64_t deps_replayer_host(const struct deps_replayer *replayer, uint32_t thread, uint64_t time,
                            bool ends);

/* Where windows lie in the last run, into moved[windows->count], which may be windows->items. */
void deps_replayer_windows(const struct deps_replayer *replayer, const struct deps_windows *windows,
                           struct deps_window *moved);

/* Gives all activities, waits and divided host code the times of the last run, and binds them anew.
 * The order in each lane stays, and so does what belongs to windows and capture ranges: `deps`
 * keeps the begins as recorded. Capture ranges keep their times. The replayer cannot be used any
 * more. MP_ERR_MEMORY: `deps` is of no use then. */
enum mp_status deps_retime(struct deps *deps, const struct deps_replayer *replayer);

struct deps_gain {
    uint32_t name;     /* in deps->names */
    uint64_t critical; /* ns, on the paths of all windows of that run; of a wait with its return */
    uint64_t gain;     /* ns: length of the windows before minus after, if it were twice as fast */
};

struct deps_gains {
    struct deps_gain *items; /* greatest first; owned by who asked */
    size_t count;
    uint64_t total; /* ns: the windows without any change */
};

/* The `max` activities (by name) that gain most if they are twice as fast: in the run without what
 * recording costs, if that is known, else in the recorded one. MP_ERR_MEMORY. */
enum mp_status deps_top_gains(const struct deps *deps, const struct deps_windows *windows,
                              struct deps_gains *gains, size_t max);

#endif
