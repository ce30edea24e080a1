/* When a thread of the process sleeps, as the kernel says in /proc. */
#ifndef MP_TESTS_E2E_ASLEEP_H
#define MP_TESTS_E2E_ASLEEP_H

#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* The letter of the thread's state: S asleep, R running. */
static char thread_state(pid_t tid)
{
    char path[64], text[256];
    const char *end;
    FILE *file;
    size_t bytes;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
    file = fopen(path, "re");
    bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[bytes] = 0;
    end = strrchr(text, ')');
    return end && end[1] ? end[2] : 0;
}

/* A busy machine may let the thread begin its wait late. */
static void await_asleep(pid_t tid)
{
    for (int i = 0; i < 10000 && thread_state(tid) != 'S'; i++)
        usleep(1000);
}

#endif
