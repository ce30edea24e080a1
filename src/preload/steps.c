/* The file of marks: made at the first mark, chunk by chunk as threads need them. Room for a chunk
 * is asked for before it is written, since a write into a mapped file on a full disk would end the
 * program. If there is none, no more marks come.
 */
#include "preload/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/preload.h"
#include "preload/next.h"
#include "preload/objects.h"

#include "base/poison.h"

/* Chunks that are begun after CUPTI has come, where runs are not compared: enough to know the
 * program's steps. */
#define CHUNKS_AFTER 64u

#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, which older headers lack */

enum state { CLOSED, OPENING, OPEN, OFF };

static struct {
    _Atomic(enum state) state;
    struct steps_header *header;
    bool counts;             /* of the processor; else ns */
    uint64_t (*clock)(void); /* NULL: CLOCK_MONOTONIC */
    int file;
    _Atomic int wanted;            /* 0: not known yet, 1: yes, -1: no */
    _Atomic bool attached;         /* CUPTI has come, and runs are not compared */
    _Atomic uint32_t chunks_after; /* then */
} store = {.file = -1};

/* What one thread writes. A signal handler that comes between two of these steps may cost a mark.
 */
struct writer {
    struct steps_mark *next, *end; /* room in its chunk; NULL: it has none */
    bool busy;                     /* it takes a chunk; a signal handler must not */
    bool waits;                    /* a query has said that work still runs */
};

/* In the static TLS block: this library is there from the start. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct writer mine;

bool steps_are_wanted(void)
{
    int wanted = atomic_load_explicit(&store.wanted, memory_order_relaxed);

    if (!wanted) {
        const char *folder = getenv(STEPS_VARIABLE);

        wanted = folder && *folder ? 1 : -1;
        atomic_store(&store.wanted, wanted);
    }
    return wanted > 0;
}

/* ---- The clock ---- */

#if defined(__x86_64__)

/* CPUID 0x80000007, EDX bit 8: invariant TSC (Intel SDM vol. 3, 17.17.1; AMD APM vol. 3, E.4.6).
 * Linux keeps its own clock with the counter only where those of all processors agree. */
static bool counter_is_even(void)
{
    unsigned a, b, c, d;
    char name[8] = "";

    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8))
        return false;
    int file = (int)LIBC(syscall)(
        SYS_openat, AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    long bytes = LIBC(syscall)(SYS_read, file, name, sizeof name - 1);
    LIBC(syscall)(SYS_close, file);
    return bytes == 4 && memcmp(name, "tsc\n", 4) == 0;
}

#else

static bool counter_is_even(void)
{
    return true; /* Arm's generic timer */
}

#endif

static uint64_t read_clock(void)
{
    struct timespec now = {0, 0};

    if (store.clock)
        return store.clock();
    LIBC(clock_gettime)(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t read_time(void)
{
    return store.counts ? moments_counter() : read_clock();
}

static void take_moment(struct steps_moment *moment)
{
    uint64_t count = moments_counter();

    atomic_store(&moment->ns, read_clock());
    atomic_store(&moment->count, count + (moments_counter() - count) / 2);
}

/* ---- The file ---- */

#define PATH_BYTES 4096

/* Without snprintf, whose checked name musl does not have. False: the folder's name is too long. */
static bool make_path(char path[PATH_BYTES], unsigned long process)
{
    static const char file[] = "/" STEPS_FILE;
    const char *folder = getenv(STEPS_VARIABLE);
    char digits[20];
    size_t count = 0, used = 0;

    for (; process; process /= 10)
        digits[count++] = (char)('0' + process % 10);
    if (!folder || strlen(folder) + sizeof file + count > PATH_BYTES)
        return false;
    while (*folder)
        path[used++] = *folder++;
    for (size_t i = 0; file[i]; i++)
        path[used++] = file[i];
    while (count)
        path[used++] = digits[--count];
    path[used] = '\0';
    return true;
}

static int make_file(void)
{
    char path[PATH_BYTES];

    if (!make_path(path, (unsigned long)LIBC(syscall)(SYS_getpid)))
        return -1;
    return (int)LIBC(syscall)(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                              0600);
}

/* Zeroes on the disk for the chunk at this place. */
static bool has_room(size_t place)
{
    static const char zeroes[4096];
    off_t at = (off_t)(place * STEPS_CHUNK_BYTES);

    if (LIBC(syscall)(SYS_fallocate, store.file, 0, at, (off_t)STEPS_CHUNK_BYTES) == 0)
        return true;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return false;
    for (size_t done = 0; done < STEPS_CHUNK_BYTES; done += sizeof zeroes)
        if (LIBC(syscall)(SYS_pwrite64, store.file, zeroes, sizeof zeroes, at + (off_t)done) !=
            (long)sizeof zeroes)
            return false;
    return true;
}

/* A file that grows beyond RLIMIT_FSIZE would end the program. */
static bool may_be_as_large(void)
{
    struct rlimit limit;

    return LIBC(syscall)(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 &&
           limit.rlim_cur >= STEPS_FILE_BYTES;
}

static struct steps_header *map(void)
{
    if (!may_be_as_large() ||
        LIBC(syscall)(SYS_ftruncate, store.file, (off_t)STEPS_FILE_BYTES) != 0 || !has_room(0))
        return NULL;
    void *mapped =
        LIBC(mmap)(NULL, STEPS_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, store.file, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

static void choose_clock(void)
{
    *(void **)&store.clock = preload_find_in_driver("simgpu_clock_ns");
    store.counts = !store.clock && counter_is_even();
}

static enum state open_store(void)
{
    store.file = make_file();
    if (store.file < 0)
        return OFF;
    store.header = map();
    if (!store.header) {
        LIBC(syscall)(SYS_close, store.file);
        return OFF;
    }
    choose_clock();
    store.header->process = (uint32_t)LIBC(syscall)(SYS_getpid);
    store.header->counts = store.counts;
    take_moment(&store.header->first);
    memcpy(store.header->magic, STEPS_MAGIC, sizeof store.header->magic);
    return OPEN;
}

static bool is_open(void)
{
    enum state state = atomic_load_explicit(&store.state, memory_order_acquire);

    if (__builtin_expect(state == OPEN, 1))
        return true;
    if (state != CLOSED || !atomic_compare_exchange_strong(&store.state, &state, OPENING))
        return false;
    state = open_store();
    atomic_store_explicit(&store.state, state, memory_order_release);
    return state == OPEN;
}

/* A forked child makes a new file. */
static void begin_anew(void)
{
    if (atomic_load(&store.state) == OPEN) {
        LIBC(munmap)(store.header, STEPS_FILE_BYTES);
        LIBC(syscall)(SYS_close, store.file);
    }
    mine = (struct writer){.next = NULL};
    atomic_store(&store.attached, false);
    atomic_store(&store.chunks_after, 0);
    atomic_store(&store.state, CLOSED);
}

/* What pthread_atfork of glibc calls. Another libc does not have it. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void *library) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

__attribute__((constructor)) static void begin(void)
{
    miniprof_preload.attached = steps_attached;
    if (!steps_are_wanted())
        return;
    if (!__register_atfork || __register_atfork(NULL, NULL, begin_anew, __dso_handle) != 0)
        atomic_store(&store.wanted, -1);
}

/* So that counts can be made into times. */
__attribute__((destructor)) static void take_last(void)
{
    if (atomic_load(&store.state) == OPEN)
        take_moment(&store.header->last);
}

/* ---- Marks ---- */

/* Makes the pages of a chunk, so that no mark has to. Linux before 5.14 does not know how. */
static void make_pages(struct steps_chunk *chunk)
{
    LIBC(syscall)(SYS_madvise, chunk, sizeof *chunk, POPULATE_WRITE);
}

/* Whether CUPTI has been here for so long that the program's steps are known. */
static bool is_enough(void)
{
    return atomic_load(&store.attached) && atomic_fetch_add(&store.chunks_after, 1) >= CHUNKS_AFTER;
}

static bool is_off(void)
{
    return !steps_are_wanted() || atomic_load_explicit(&store.state, memory_order_relaxed) == OFF;
}

static void take_chunk(void)
{
    if (!is_open())
        return;
    uint32_t place = 1 + atomic_fetch_add(&store.header->chunks, 1);
    if (is_enough() || place > STEPS_MAX_CHUNKS || !has_room(place)) {
        atomic_store(&store.state, OFF);
        return;
    }
    struct steps_chunk *chunk = (struct steps_chunk *)(void *)store.header + place;
    make_pages(chunk);
    chunk->thread = moments_thread();
    mine.next = chunk->marks;
    mine.end = chunk->marks + STEPS_CHUNK_MARKS;
    take_moment(&store.header->last);
}

static __attribute__((noinline)) void put_first(const struct steps_mark *mark)
{
    int error = errno;

    mine.next = mine.end = NULL;
    if (mine.busy || is_off())
        return;
    mine.busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    take_chunk();
    atomic_signal_fence(memory_order_seq_cst);
    mine.busy = false;
    errno = error;
    if (mine.next) {
        *mine.next = *mark;
        mine.next++->time = read_time();
    }
}

void steps_put(enum steps_kind kind, uint32_t name, uint32_t domain)
{
    struct steps_mark mark = {0, name, kind & 0xFFu, domain & 0xFFFFFFu};

    mine.waits = false;
    if (__builtin_expect(mine.next == mine.end, 0)) {
        put_first(&mark);
        return;
    }
    mark.time = read_time();
    *mine.next++ = mark;
}

void steps_asked(bool ready)
{
    if (ready && mine.waits)
        steps_put(STEPS_WAIT, 0, 0);
    mine.waits = !ready;
}

void steps_attached(void)
{
    steps_put(STEPS_ATTACHED, 0, 0);
    if (!getenv(STEPS_ALL))
        atomic_store(&store.attached, true);
}
