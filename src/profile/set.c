/* Opens the traces of several processes and puts their clocks on one axis. Files of one boot share
 * CLOCK_MONOTONIC; files of several hosts can be compared by the time of day only.
 */
#include "profile/set.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "profile/identity.h"

#include "base/poison.h"

#define SAME_BOOT_NS 1000000000u

/* ---- Files ---- */

static enum mp_status add_problem(struct trace_set *set, const char *text, bool named,
                                  bool repeated)
{
    const char *copy = mp_arena_copy(&set->text, text, strlen(text));

    if (!copy)
        return MP_ERR_MEMORY;
    MP_TRY(MP_RESERVE(set->problems, set->problem_count, set->problem_capacity));
    set->problems[set->problem_count++] = (struct trace_set_problem){copy, named, repeated};
    return MP_OK;
}

static const struct trace_process *find_file(const struct trace_set *set, const struct stat *about)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->processes[i].file_inode == about->st_ino &&
            set->processes[i].file_device == about->st_dev)
            return &set->processes[i];
    }
    return NULL;
}

static struct trace_process *find_copy(struct trace_set *set, const struct trace_process *process)
{
    for (size_t i = 0; i < set->count; i++) {
        if (fingerprint_is_same(&set->processes[i].fingerprint, &process->fingerprint))
            return &set->processes[i];
    }
    return NULL;
}

/* Of the copies in one folder only the first is named. */
struct copies {
    size_t count;
    struct mp_error first;
};

/* Keeps the one of the two that has more records, and notes which one that is. */
static void merge_copies(struct trace_process *process, struct trace_process *other,
                         struct copies *copies)
{
    struct trace_process left = *process;

    if (process->records > other->records) {
        left = *other;
        *other = *process;
    }
    if (!copies->count++)
        snprintf(copies->first.text, sizeof copies->first.text,
                 "'%.90s' is %s of '%.90s': left out", left.path,
                 left.records < other->records ? "a part" : "a copy", other->path);
    free(left.devices);
}

/* One line about the copies. */
static enum mp_status say_copies(struct trace_set *set, const struct copies *copies, bool named)
{
    struct mp_error error;

    if (!copies->count)
        return MP_OK;
    if (copies->count == 1)
        return add_problem(set, copies->first.text, named, true);
    mp_error_set(&error, MP_ERR_ARGUMENT, "%s, and so %s %s more file%s", copies->first.text,
                 copies->count == 2 ? "is" : "are", mp_count(copies->count - 1).text,
                 copies->count == 2 ? "" : "s");
    return add_problem(set, error.text, named, true);
}

static enum mp_status add_file(struct trace_set *set, const char *path, bool named,
                               struct copies *copies)
{
    struct trace_process process = {.file_device = 0};
    struct mp_error error;
    struct stat about;

    if (stat(path, &about) == 0) {
        if (find_file(set, &about)) {
            if (!copies->count++)
                mp_error_set(&copies->first, MP_ERR_ARGUMENT, "'%.180s' is given twice: taken once",
                             path);
            return MP_OK;
        }
        process.file_device = about.st_dev;
        process.file_inode = about.st_ino;
    }
    enum mp_status status = trace_identity_read(path, &set->text, &process, &error);
    struct trace_process *copy = status == MP_OK ? find_copy(set, &process) : NULL;
    if (copy) {
        merge_copies(&process, copy, copies);
        return MP_OK;
    }
    if (status == MP_OK)
        status = MP_RESERVE(set->processes, set->count, set->capacity);
    if (status == MP_OK) {
        set->processes[set->count++] = process;
        return MP_OK;
    }
    free(process.devices);
    return status == MP_ERR_MEMORY ? status : add_problem(set, error.text, named, false);
}

/* A file that was given by its own name. */
static enum mp_status add_named(struct trace_set *set, const char *path)
{
    struct copies copies = {.count = 0};

    MP_TRY(add_file(set, path, true, &copies));
    return say_copies(set, &copies, true);
}

/* ---- Folders ---- */

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

MP_COMPARE(compare_processes, struct trace_process,
           MP_ORDER(a->rank, b->rank) ?: compare_texts(a->host, b->host) ?:
           MP_ORDER(a->pid, b->pid) ?: strcmp(a->path, b->path));

/* Folder entries are read in the order of their names. So if a file is there twice, by a link, the
 * same one is taken each time. */
static int take_names(const struct dirent *entry)
{
    return *entry->d_name != '.' && mp_text_ends_with(entry->d_name, ".mpt");
}

static enum mp_status add_names(struct trace_set *set, const char *folder, struct dirent **names,
                                int count)
{
    size_t length = strlen(folder);
    bool slash = length && folder[length - 1] == '/';
    struct copies copies = {.count = 0};
    enum mp_status status = MP_OK;

    for (int i = 0; i < count && status == MP_OK; i++) {
        size_t bytes = length + 2 + strlen(names[i]->d_name);
        char *path = malloc(bytes);

        if (!path)
            return MP_ERR_MEMORY;
        snprintf(path, bytes, "%s%s%s", folder, slash ? "" : "/", names[i]->d_name);
        status = add_file(set, path, false, &copies);
        free(path);
    }
    return status == MP_OK ? say_copies(set, &copies, false) : status;
}

static enum mp_status add_folder(struct trace_set *set, const char *folder)
{
    struct dirent **names = NULL;
    struct mp_error error;
    size_t before = set->count;
    int count = scandir(folder, &names, take_names, alphasort);

    if (count < 0) {
        if (errno == ENOMEM)
            return MP_ERR_MEMORY;
        mp_error_set(&error, MP_ERR_IO, "cannot read the folder '%.150s': %m", folder);
        return add_problem(set, error.text, true, false);
    }
    enum mp_status status = add_names(set, folder, names, count);
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    if (status == MP_OK && !count) {
        mp_error_set(&error, MP_ERR_IO, "no traces (*.mpt) in the folder '%.150s'", folder);
        status = add_problem(set, error.text, true, false);
    }
    if (set->count > before)
        qsort(set->processes + before, set->count - before, sizeof *set->processes,
              compare_processes);
    return status;
}

bool trace_set_is_folder(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* ---- Clocks ---- */

static uint64_t distance(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b) < 0 ? b - a : a - b;
}

/* Whether both have CLOCK_MONOTONIC of one boot of one host. */
static bool share_clock(const struct trace_process *a, const struct trace_process *b)
{
    return a->alignment != TRACE_ALIGNED_NOT && a->host && b->host && a->clock && b->clock &&
           !strcmp(a->host, b->host) && !strcmp(a->clock, "monotonic") &&
           !strcmp(b->clock, "monotonic") && distance(a->offset, b->offset) < SAME_BOOT_NS;
}

static void join_clock(struct trace_set *set, struct trace_process *process,
                       struct trace_process *earlier)
{
    uint64_t apart = distance(process->offset, earlier->offset);

    set->spread = apart > set->spread ? apart : set->spread;
    process->clock_number = earlier->clock_number;
    process->offset = earlier->offset;
    process->alignment = earlier->alignment = TRACE_ALIGNED_CLOCK;
}

static void align_clocks(struct trace_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct trace_process *process = &set->processes[i];
        size_t earlier = 0;

        if (process->alignment == TRACE_ALIGNED_NOT) {
            set->unaligned++;
            continue;
        }
        while (earlier < i && !share_clock(&set->processes[earlier], process))
            earlier++;
        if (earlier < i)
            join_clock(set, process, &set->processes[earlier]);
        else
            process->clock_number = set->clock_count++;
    }
}

static void find_first(struct trace_set *set, bool aligned)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct trace_process *process = &set->processes[i];
        uint64_t first = process->first_time + process->offset;

        if (!process->first_time || (aligned && process->alignment == TRACE_ALIGNED_NOT))
            continue;
        if (!set->first_time || first < set->first_time)
            set->first_time = first;
    }
}

static void align(struct trace_set *set)
{
    align_clocks(set);
    find_first(set, true);
    if (!set->first_time)
        find_first(set, false);
    for (size_t i = 0; i < set->count; i++) {
        struct trace_process *process = &set->processes[i];

        if (process->alignment != TRACE_ALIGNED_NOT)
            continue;
        process->clock_number = set->clock_count++;
        if (process->first_time)
            process->offset = set->first_time - process->first_time;
    }
}

const char *trace_set_describe_clocks(const struct trace_set *set, char *text, size_t size)
{
    if (set->clock_count <= 1 && !set->unaligned) {
        snprintf(text, size, "all times are of one clock");
        return text;
    }
    int used = snprintf(text, size,
                        "times are of %s clocks, aligned by the time of day when recording began: "
                        "right as far as these agree",
                        mp_count(set->clock_count).text);
    if (set->unaligned && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used,
                 "; %s trace%s not say when that was: put where the first begins",
                 mp_count(set->unaligned).text, set->unaligned == 1 ? " does" : "s do");
    return text;
}

/* ---- Labels ---- */

enum label { LABEL_RANK, LABEL_PID, LABEL_HOST, LABEL_NUMBER };

static void write_label(const struct trace_process *process, size_t number, enum label label,
                        char *text, size_t size)
{
    switch (label) {
    case LABEL_RANK:
        snprintf(text, size, "rank %" PRIu64, process->rank);
        break;
    case LABEL_PID:
        snprintf(text, size, "pid %" PRIu64, process->pid);
        break;
    case LABEL_HOST:
        snprintf(text, size, "%.60s:%" PRIu64, process->host ? process->host : "", process->pid);
        break;
    case LABEL_NUMBER:
        snprintf(text, size, "#%zu", number + 1);
        break;
    }
}

static bool can_label(const struct trace_process *process, enum label label)
{
    if (label == LABEL_RANK)
        return process->rank != TRACE_SET_UNKNOWN;
    return label == LABEL_NUMBER || process->pid != TRACE_SET_UNKNOWN;
}

static int compare_labels(const void *left, const void *right)
{
    const char *const *a = left;
    const char *const *b = right;

    return strcmp(*a, *b);
}

static bool all_differ(const struct trace_set *set, const char **scratch)
{
    for (size_t i = 0; i < set->count; i++)
        scratch[i] = set->processes[i].label;
    qsort(scratch, set->count, sizeof *scratch, compare_labels);
    for (size_t i = 1; i < set->count; i++) {
        if (!strcmp(scratch[i - 1], scratch[i]))
            return false;
    }
    return true;
}

static enum mp_status try_labels(struct trace_set *set, enum label label, const char **scratch,
                                 bool *done)
{
    char text[96];

    *done = false;
    for (size_t i = 0; i < set->count; i++) {
        if (!can_label(&set->processes[i], label))
            return MP_OK;
        write_label(&set->processes[i], i, label, text, sizeof text);
        set->processes[i].label = mp_arena_copy(&set->text, text, strlen(text));
        if (!set->processes[i].label)
            return MP_ERR_MEMORY;
    }
    *done = all_differ(set, scratch);
    return MP_OK;
}

/* Chooses the shortest labels that tell the processes apart; a single rank alone says nothing. */
static enum mp_status choose_labels(struct trace_set *set)
{
    const char **scratch = calloc(set->count + 1, sizeof *scratch);
    enum mp_status status = scratch ? MP_OK : MP_ERR_MEMORY;
    bool done = false;

    for (int label = set->count == 1 ? LABEL_PID : LABEL_RANK;
         label <= LABEL_NUMBER && !done && status == MP_OK; label++)
        status = try_labels(set, (enum label)label, scratch, &done);
    free(scratch);
    return status;
}

/* ---- The whole ---- */

enum mp_status trace_set_open(const char *const *paths, size_t count, struct trace_set *set,
                              struct mp_error *error)
{
    enum mp_status status = MP_OK;

    *set = (struct trace_set){.count = 0};
    for (size_t i = 0; i < count && status == MP_OK; i++)
        status =
            trace_set_is_folder(paths[i]) ? add_folder(set, paths[i]) : add_named(set, paths[i]);
    if (status == MP_OK) {
        align(set);
        status = choose_labels(set);
    }
    if (status == MP_OK)
        return MP_OK;
    trace_set_free(set);
    return mp_error_set(error, status, "out of memory");
}

void trace_set_free(struct trace_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->processes[i].devices);
    free(set->processes);
    free(set->problems);
    mp_arena_free(&set->text);
    *set = (struct trace_set){.count = 0};
}

bool trace_process_is_whole(const struct trace_process *process)
{
    char text[256];

    return !process->dropped && !mp_damage_describe(&process->damage, text, sizeof text);
}
