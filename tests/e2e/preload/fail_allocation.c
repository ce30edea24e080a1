/* fail_allocation.c: malloc and its kin and mmap in front of libc's. One allocation of one module
 * fails, once, as tests/sweeps/allocations.py asks:
 *
 *     FAIL_MODULE   the file name of the module whose allocations count: a library or the program
 *     FAIL_LOG      a file that gets a line for each of its allocations: the place, and the
 *                   addresses in the module from which it is called; or, with FAIL_PLACE, this line
 *                   for the one that failed
 *     FAIL_PLACE    the place at which one fails
 *     FAIL_TURN     its how manieth; 1 is the first
 *
 * A place is the chain of calls within the module, so it is the same in each run, wherever the
 * module lies and whatever the threads do. An allocation that libc, the loader or the C++ runtime
 * makes for the module counts as the module's, one of other libraries does not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_FRAMES = 24, CHAIN_FRAMES = 8 };

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static const char *module_name;
static const char *log_name;
static uint64_t failing_place; /* 0: none */
static long failing_turn;
static _Atomic long turns; /* allocations at failing_place so far */
static _Thread_local bool inside;

__attribute__((constructor)) static void configure(void)
{
    const char *place = getenv("FAIL_PLACE");
    const char *turn = getenv("FAIL_TURN");
    void *frame;

    inside = true;
    backtrace(&frame, 1); /* loads the unwinder */
    failing_place = place ? strtoull(place, NULL, 16) : 0;
    failing_turn = turn ? strtol(turn, NULL, 10) : 1;
    log_name = getenv("FAIL_LOG");
    module_name = getenv("FAIL_MODULE"); /* the last: from here on allocations count */
    inside = false;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Which acts for whoever calls it. */
static bool is_runtime(const char *name)
{
    static const char *const names[] = {"libc.so", "ld-linux", "libstdc++", "fail_allocation"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* The chain of calls in the module that ends in the allocation under way: addresses from the start
 * of the module. None if the allocation is not the module's. */
static int find_chain(uintptr_t *chain)
{
    void *frames[MAX_FRAMES];
    int count = backtrace(frames, MAX_FRAMES);
    int found = 0;

    for (int i = 0; i < count && found < CHAIN_FRAMES; i++) {
        Dl_info about;

        if (!dladdr(frames[i], &about) || !about.dli_fname)
            break;
        if (strcmp(file_name(about.dli_fname), module_name) == 0)
            chain[found++] = (uintptr_t)frames[i] - (uintptr_t)about.dli_fbase;
        else if (found || !is_runtime(file_name(about.dli_fname)))
            break;
    }
    return found;
}

static uint64_t place_of(const uintptr_t *chain, int count)
{
    uint64_t place = 0xcbf29ce484222325; /* FNV-1a of whole words */

    for (int i = 0; i < count; i++)
        place = (place ^ chain[i]) * 0x100000001b3;
    return place;
}

static void log_chain(uint64_t place, const uintptr_t *chain, int count)
{
    char line[32 + 20 * CHAIN_FRAMES];
    int length = snprintf(line, sizeof(line), "%016llx", (unsigned long long)place);
    int file = open(log_name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ssize_t written;

    for (int i = 0; i < count; i++)
        length += snprintf(line + length, sizeof(line) - (size_t)length, " %zx", chain[i]);
    line[length++] = '\n';
    written = write(file, line, (size_t)length);
    (void)written;
    close(file);
}

static bool fails_here(void)
{
    uintptr_t chain[CHAIN_FRAMES];
    int count = find_chain(chain);
    uint64_t place = place_of(chain, count);
    bool fails = count > 0 && place == failing_place && ++turns == failing_turn;

    if (log_name && (fails || (count > 0 && !failing_place)))
        log_chain(place, chain, count);
    return fails;
}

static bool must_fail(void)
{
    int error = errno;
    bool fails;

    if (!module_name || inside)
        return false;
    inside = true;
    fails = fails_here();
    inside = false;
    errno = fails ? ENOMEM : error;
    return fails;
}

void *malloc(size_t bytes)
{
    return must_fail() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return must_fail() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return must_fail() ? NULL : __libc_realloc(block, bytes);
}

void *reallocarray(void *block, size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / bytes) {
        errno = ENOMEM;
        return NULL;
    }
    return must_fail() ? NULL : __libc_realloc(block, count * bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    void *made = must_fail() ? NULL : __libc_memalign(alignment, bytes);

    if (made)
        *block = made;
    return made ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return must_fail() ? NULL : __libc_memalign(alignment, bytes);
}

void *mmap(void *address, size_t bytes, int access, int flags, int file, off_t offset)
{
    if (must_fail())
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, bytes, access, flags, file, offset);
}
