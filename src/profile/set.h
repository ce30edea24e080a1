/* The traces of several processes: who they were, which GPUs they used, and how their clocks lie.
 *
 * Each file is opened once, its header and chunk headers are read, and it is closed again, so a set
 * may have any number of files; what it keeps is some hundred bytes each.
 *
 * Clocks. Times in a file are of the recorder's clock. Its header holds that clock and
 * CLOCK_REALTIME, read side by side when recording began; their difference, `offset`, maps the
 * file's times to ns since 1970. What that is worth:
 *
 *     one clock     CLOCK_MONOTONIC counts for a whole machine from boot. Files of one host whose
 *                   offsets differ by less than a second are taken to be of one boot, and all get
 *                   the offset of the first: among them there is no skew. By their own offsets
 *                   there would be one of as much as CLOCK_REALTIME was set or slewed between
 *                   their starts: `spread` says how much that was.
 *     other clocks  of different hosts, boots, or virtual ones: aligned by CLOCK_REALTIME, as far
 *                   as the hosts' clocks agreed. Nothing in a trace bounds that skew.
 *     no keys       a file that does not say when it began is put where the earliest begins.
 */
#ifndef MP_PROFILE_SET_H
#define MP_PROFILE_SET_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/storage.h"
#include "base/status.h"

/* ---- Copies ----
 *
 * Whether two files are the same recording: one of them is a copy of the other, or of its begin.
 *
 * A header with the process id and the moment when recording began is like no other; the flight
 * recorder adds the moment of the trigger. So equal headers of that kind suffice, also if one of
 * the files is damaged or was cut off. Headers without these keys must be equal too, and so must
 * the headers of the first chunks. A file that has no chunk tells nothing then.
 */

#define FINGERPRINT_CHUNKS 16u

struct fingerprint {
    uint64_t header;                     /* hash of all keys and values */
    uint64_t chunks[FINGERPRINT_CHUNKS]; /* hash of the first chunk headers up to this one */
    uint32_t count;                      /* of `chunks` */
    bool unique;                         /* the header names the process and its start */
};

bool fingerprint_is_same(const struct fingerprint *a, const struct fingerprint *b);

/* ---- Sets ---- */

#define TRACE_SET_UNKNOWN UINT64_MAX

/* An ordinal names a GPU in one process only; the UUID names it anywhere. */
struct trace_set_device {
    uint64_t ordinal;
    uint64_t uuid_high; /* big endian, as in the table `device`; both 0: unknown */
    uint64_t uuid_low;
    uint64_t name_id;
    const char *name; /* NULL: not defined */
};

enum trace_alignment {
    TRACE_ALIGNED_NOT,      /* put where the set begins */
    TRACE_ALIGNED_REALTIME, /* by CLOCK_REALTIME when recording began */
    TRACE_ALIGNED_CLOCK     /* shares its clock with another process of the set */
};

struct trace_process {
    const char *path;
    const char *label; /* what tells it from the others: `rank 3`, `pid 4711`, `host:4711`, `#2` */
    const char *host;  /* NULL: the header does not say; the same for the next two */
    const char *command; /* argv, else the executable */
    const char *clock;
    uint64_t pid; /* TRACE_SET_UNKNOWN: the header does not say; the same for the next two */
    uint64_t ppid;
    uint64_t rank;
    struct trace_set_device *devices; /* by ordinal; owned */
    size_t device_count, device_capacity;
    uint64_t first_time; /* of the records, ns of the file's clock; 0: no records */
    uint64_t last_time;
    uint64_t offset; /* to be added to times of the file, modulo 2^64: ns since 1970 */
    enum trace_alignment alignment;
    size_t clock_number; /* processes with the same one share a clock; from 0 */
    uint64_t records;    /* as the chunk headers count them */
    uint64_t dropped;
    uint64_t bytes;          /* of the file */
    struct mp_damage damage; /* that the walk over the chunk headers met */
    uint64_t file_device, file_inode;
    struct fingerprint fingerprint;
};

/* What was passed over. */
struct trace_set_problem {
    const char *text; /* one line */
    bool named;       /* the path was given; else found in a folder */
    bool repeated;    /* the file, or a copy of it, is in the set already */
};

struct trace_set {
    struct trace_process *processes; /* owned */
    size_t count, capacity;
    struct trace_set_problem *problems; /* owned */
    size_t problem_count, problem_capacity;
    size_t clock_count;
    size_t unaligned;    /* processes with TRACE_ALIGNED_NOT */
    uint64_t spread;     /* ns; greatest between the offsets of files that share a clock */
    uint64_t first_time; /* the earliest of the records, ns since 1970; 0 without records */
    struct mp_arena text;
};

/* Opens `count` paths: files in the order in which they are given, and of a folder its *.mpt files,
 * not those of folders in it, by rank, host, process id and name. What cannot be read, and what is
 * there already, is passed over and listed in set->problems. Of copies of one recording
 * (Copies, above) the one with most records is taken. MP_ERR_MEMORY leaves *set empty; on
 * success trace_set_free gives it back. */
enum mp_status trace_set_open(const char *const *paths, size_t count, struct trace_set *set,
                              struct mp_error *error);

void trace_set_free(struct trace_set *set);

/* Whether `path` is a folder. */
bool trace_set_is_folder(const char *path);

/* Whether the process's file can be read completely and no record was lost. */
bool trace_process_is_whole(const struct trace_process *process);

#define TRACE_SET_CLOCKS_BYTES 256

/* One line without a newline on how far the times of the processes can be compared. Returns
 * `text`, of at least TRACE_SET_CLOCKS_BYTES. */
const char *trace_set_describe_clocks(const struct trace_set *set, char *text, size_t size);

#endif
