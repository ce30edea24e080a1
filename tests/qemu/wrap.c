/* Stands in the place of a program for another processor and runs it in qemu's user mode, so that a
 * test can start it like any other, without a handler in the kernel (binfmt_misc).
 *
 * One binary, hard-linked to many names: it runs BUILD/NAME when it is called as BUILD/qemu/NAME.
 * It is linked statically: what LD_PRELOAD and LD_LIBRARY_PATH name is for the program, not for
 * this machine's processor. It hands both on by qemu's -E and hides them from qemu itself.
 *
 * QEMU and SYSROOT: what runs the program, and the folder with its libraries.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS 10 /* words before the program's own arguments */

static char settings[2][1 << 16];

/* The path of the program itself: that of the wrapper without its folder. */
static int find_program(char program[static PATH_MAX])
{
    static const char folder[] = "/qemu/";
    ssize_t length = readlink("/proc/self/exe", program, PATH_MAX - 1);
    char *at;

    if (length <= 0)
        return 0;
    program[length] = '\0';
    at = strstr(program, folder);
    if (!at)
        return 0;
    memmove(at, at + sizeof folder - 2, strlen(at + sizeof folder - 2) + 1);
    return 1;
}

/* Moves a variable from the environment into qemu's options. */
static int hand_on(const char *name, char *setting, char **words)
{
    static char option[] = "-E";
    const char *value = getenv(name);

    if (!value)
        return 0;
    snprintf(setting, sizeof settings[0], "%s=%s", name, value);
    unsetenv(name);
    words[0] = option;
    words[1] = setting;
    return 2;
}

int main(int argc, char **argv)
{
    static char program[PATH_MAX];
    static char qemu[] = QEMU;
    static char prefix[] = "-L";
    static char sysroot[] = SYSROOT;
    static char name[] = "-0";
    char **words;
    int count = 0;

    if (!find_program(program)) {
        fprintf(stderr, "wrap: '%s' does not lie in a folder qemu/\n", argv[0]);
        return 127;
    }
    words = calloc((size_t)argc + OPTIONS, sizeof *words);
    if (!words)
        return 127;
    words[count++] = qemu;
    words[count++] = prefix;
    words[count++] = sysroot;
    words[count++] = name;
    words[count++] = argv[0];
    count += hand_on("LD_LIBRARY_PATH", settings[0], words + count);
    count += hand_on("LD_PRELOAD", settings[1], words + count);
    words[count++] = program;
    for (int i = 1; i < argc; i++)
        words[count++] = argv[i];
    execvp(qemu, words);
    fprintf(stderr, "wrap: cannot start %s: %s\n", qemu, strerror(errno));
    free(words);
    return 127;
}
