/* See threads_cpu.h; the fields of a thread's stat are proc(5)'s. */
#include "threads_cpu.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* utime is field 14 and the name field 2. */
enum { FIELDS_TO_UTIME = 12 };

/* False if the thread has ended. */
static bool read_stat(const char *thread, char *line, size_t size)
{
    char path[320];
    ssize_t length;
    int file;

    snprintf(path, sizeof(path), "/proc/self/task/%s/stat", thread);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    length = read(file, line, size - 1);
    close(file);
    line[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* Takes the name out of the line; what follows it. A name may have spaces and parentheses, the rest
 * of the line has none. */
static const char *split_name(char *line, const char **name)
{
    char *begin = strchr(line, '(');
    char *end = strrchr(line, ')');

    if (!begin || !end || end < begin)
        return NULL;
    *end = '\0';
    *name = begin + 1;
    return end + 1;
}

static unsigned long long ticks_of(const char *fields)
{
    unsigned long long user;
    char *rest;
    int i;

    for (i = 1; fields && i < FIELDS_TO_UTIME; i++)
        fields = strchr(fields + 1, ' ');
    if (!fields)
        return 0;
    user = strtoull(fields, &rest, 10);
    return user + strtoull(rest, NULL, 10);
}

static enum threads_group group_of(pid_t thread, const char *name, const pid_t *application,
                                   size_t count)
{
    static const char flush[] = "-flush";
    size_t length = strlen(name), i;

    for (i = 0; i < count; i++)
        if (application[i] == thread)
            return THREADS_APPLICATION;
    if (length >= strlen(flush) && strcmp(name + length - strlen(flush), flush) == 0)
        return THREADS_FLUSH;
    return strncmp(name, "miniprof", strlen("miniprof")) == 0 ? THREADS_MINIPROF : THREADS_OTHERS;
}

void threads_cpu_look(const pid_t *application, size_t count, double ms[THREADS_GROUPS])
{
    unsigned long long ticks[THREADS_GROUPS] = {0};
    double tick_ms = 1e3 / (double)sysconf(_SC_CLK_TCK);
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    int i;

    while (folder && (entry = readdir(folder)) != NULL) {
        const char *name, *fields;
        char line[1024];

        if (entry->d_name[0] == '.' || !read_stat(entry->d_name, line, sizeof(line)))
            continue;
        fields = split_name(line, &name);
        if (fields)
            ticks[group_of((pid_t)strtol(entry->d_name, NULL, 10), name, application, count)] +=
                ticks_of(fields);
    }
    if (folder)
        closedir(folder);
    for (i = 0; i < THREADS_GROUPS; i++)
        ms[i] = (double)ticks[i] * tick_ms;
}
