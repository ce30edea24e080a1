/* Finds the trace files that a program wrote. The program may have become another one by exec, or
 * may have had children, so the file names are matched with the pattern of MINIPROF_OUTPUT.
 */
#include "run/run.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "base/io.h"
#include "base/text/strings.h"

#include "base/poison.h"

/* Stands for the process id while the rest of the pattern is expanded: no file name has it. */
#define PID_MARK '\001'

#define NUMBERS_MISSING 100

/* Replaces %p by the mark; everything else stays for mp_pattern_expand. */
static bool mark_pid(const char *pattern, char *marked, size_t size)
{
    size_t used = 0;

    for (; *pattern; pattern++) {
        if (used + 3 > size)
            return false;
        if (pattern[0] == '%' && pattern[1] == 'p') {
            marked[used++] = PID_MARK;
            pattern++;
            continue;
        }
        marked[used++] = pattern[0];
        if (pattern[0] == '%' && pattern[1])
            marked[used++] = *++pattern;
    }
    marked[used] = '\0';
    return true;
}

static bool insert_pid(const char *marked, pid_t pid, char *path, size_t size)
{
    size_t used = 0;

    path[0] = '\0';
    for (; *marked; marked++) {
        char text[24] = {*marked, '\0'};

        if (*marked == PID_MARK)
            snprintf(text, sizeof text, "%ld", (long)pid);
        size_t length = strlen(text);
        if (used + length >= size)
            return false;
        memcpy(path + used, text, length + 1);
        used += length;
    }
    return true;
}

static bool is_new(const char *path, const struct timespec *since)
{
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    return info.st_mtim.tv_sec > since->tv_sec ||
           (info.st_mtim.tv_sec == since->tv_sec && info.st_mtim.tv_nsec >= since->tv_nsec);
}

/* Whether `name` is `marked` with digits in the place of its one mark. */
static bool matches(const char *name, const char *marked)
{
    size_t before = strcspn(marked, (const char[]){PID_MARK, '\0'});
    size_t digits = 0;

    if (strncmp(name, marked, before) != 0)
        return false;
    while (isdigit((unsigned char)name[before + digits]))
        digits++;
    return digits && mp_text_equal(name + before + digits, marked + before + 1);
}

static enum mp_status written_traces_add(struct written_traces *traces, const char *path)
{
    void *others = traces->others;

    MP_TRY(
        mp_reserve(&others, traces->other_count, &traces->other_capacity, sizeof *traces->others));
    traces->others = others;
    traces->others[traces->other_count] = strdup(path);
    if (!traces->others[traces->other_count])
        return MP_ERR_MEMORY;
    traces->other_count++;
    return MP_OK;
}

static enum mp_status add_other(struct written_traces *traces, const char *folder,
                                size_t folder_length, const char *name,
                                const struct timespec *since)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%.*s%s", (int)folder_length, folder, name);

    if (length < 0 || (size_t)length >= sizeof path || mp_text_equal(path, traces->own) ||
        !is_new(path, since))
        return MP_OK;
    return written_traces_add(traces, path);
}

/* Files with a number: of programs that found the name taken, either other ones or those that
 * replaced the process by exec. Files of earlier runs may be among them, or have been removed: the
 * search ends after NUMBERS_MISSING numbers without a file. */
static enum mp_status find_numbered(struct written_traces *traces, const struct timespec *since)
{
    char path[PATH_MAX];
    unsigned missing = 0;

    for (unsigned number = 1; number <= MP_PATTERN_LAST_NUMBER && missing < NUMBERS_MISSING;
         number++) {
        if (!mp_pattern_number(traces->own, number, path, sizeof path))
            break;
        if (is_new(path, since))
            MP_TRY(written_traces_add(traces, path));
        missing = access(path, F_OK) == 0 ? 0 : missing + 1;
    }
    return MP_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Only possible if the file's name contains the process id exactly once. */
static enum mp_status find_others(struct written_traces *traces, const char *marked,
                                  const struct timespec *since)
{
    const char *slash = strrchr(marked, '/');
    const char *file = slash ? slash + 1 : marked;
    const char *mark = strchr(marked, PID_MARK);
    char folder[PATH_MAX];
    const struct dirent *entry;
    enum mp_status status = MP_OK;

    if (!mark || mark < file || mark != strrchr(marked, PID_MARK))
        return MP_OK;
    snprintf(folder, sizeof folder, "%.*s", (int)(file - marked), marked);
    DIR *entries = opendir(*folder ? folder : ".");
    if (!entries)
        return MP_OK;
    while (status == MP_OK && (entry = readdir(entries))) {
        if (matches(entry->d_name, file))
            status = add_other(traces, marked, (size_t)(file - marked), entry->d_name, since);
    }
    closedir(entries);
    if (traces->other_count)
        qsort(traces->others, traces->other_count, sizeof *traces->others, compare_names);
    return status;
}

enum mp_status written_traces_find(struct written_traces *traces, const char *pattern, pid_t pid,
                                   const struct timespec *since, struct mp_error *error)
{
    char marked_pattern[PATH_MAX];
    char marked[PATH_MAX];

    *traces = (struct written_traces){.others = NULL};
    if (!mark_pid(pattern, marked_pattern, sizeof marked_pattern))
        return mp_error_set(error, MP_ERR_LIMIT, "the output file's name is too long");
    MP_TRY(mp_pattern_expand(marked_pattern, marked, sizeof marked, error));
    if (!insert_pid(marked, pid, traces->own, sizeof traces->own))
        return mp_error_set(error, MP_ERR_LIMIT, "the output file's name is too long");
    traces->own_exists = is_new(traces->own, since);
    if (find_numbered(traces, since) != MP_OK || find_others(traces, marked, since) != MP_OK)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    return MP_OK;
}

void written_traces_free(struct written_traces *traces)
{
    for (size_t i = 0; i < traces->other_count; i++)
        free(traces->others[i]);
    free(traces->others);
    *traces = (struct written_traces){.others = NULL};
}
