/*
 * meet.c: where the processes of a communicator meet: a file in SIMNCCL_DIR that all of them map.
 *
 *   word[n % RING][rank]            what each rank brought to the nth meeting of all
 *   pair[from][to][n % PAIRS][side] the same of the nth transfer from one rank to another
 *
 * A word is there when its number is n + 1. Nobody comes to the next meeting before he knows all
 * words of this one, so that two places would do. Each rank holds a lock on the byte of its number:
 * the kernel lets go of it when the process ends, however that happens, so who waits finds out.
 */
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { RING = 4, PAIRS = 64, LOCKS = 1 << 30 };

struct place {
    _Atomic uint64_t number; /* whose word this is, plus 1 */
    struct sn_word word;
};

struct sn_shared {
    _Atomic uint32_t changed; /* a futex: words so far */
    _Atomic uint32_t nranks;  /* 0 until the first rank has come */
    _Atomic uint32_t left;    /* ranks that have closed */
    _Atomic uint32_t joined[SIMNCCL_RANKS];
    struct place words[RING][SIMNCCL_RANKS];
    struct place pairs[]; /* [from][to][PAIRS][2] */
};

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static size_t shared_bytes(int nranks)
{
    return sizeof(struct sn_shared) +
           (size_t)nranks * (size_t)nranks * PAIRS * 2 * sizeof(struct place);
}

static struct place *pair_place(const struct sn_meeting *meeting, int peer, bool sends,
                                uint64_t number)
{
    size_t from = (size_t)(sends ? meeting->rank : peer);
    size_t to = (size_t)(sends ? peer : meeting->rank);
    size_t pair = from * (size_t)meeting->nranks + to;

    return &meeting->shared->pairs[(pair * PAIRS + number % PAIRS) * 2];
}

/* ---- Waiting ---- */

static void announce(struct sn_shared *shared)
{
    atomic_fetch_add(&shared->changed, 1);
    syscall(SYS_futex, &shared->changed, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Somebody may have ended without a word, so nobody sleeps for long. */
static void doze(struct sn_shared *shared, uint32_t seen)
{
    const struct timespec pause = {0, 20000000};

    syscall(SYS_futex, &shared->changed, FUTEX_WAIT, seen, &pause, NULL, 0);
}

/* The rank has come to this communicator, and its process has ended or has left it. */
static bool is_gone(const struct sn_meeting *meeting, int rank)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCKS + rank, .l_len = 1};
    uint32_t process = atomic_load(&meeting->shared->joined[rank]);

    if (!process || process == (uint32_t)getpid())
        return false;
    return fcntl(meeting->file, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

/* Says why an operation ends that its partners let down, once for each time. */
static ncclResult_t complain(ncclResult_t result, const struct sn_meeting *meeting, int rank,
                             const char *what)
{
    fprintf(stderr, "simnccl: rank %d of %d: rank %d %s\n", meeting->rank, meeting->nranks, rank,
            what);
    return result;
}

static bool is_there(const struct place *place, uint64_t number)
{
    return atomic_load(&place->number) == number + 1;
}

/* Until this rank's word is there. */
static ncclResult_t await(const struct sn_meeting *meeting, const struct place *place,
                          uint64_t number, int rank)
{
    uint64_t limit = now_ms() + (uint64_t)env_number("SIMNCCL_TIMEOUT_MS", 60000);

    for (;;) {
        uint32_t seen = atomic_load(&meeting->shared->changed);
        bool gone;

        if (is_there(place, number))
            return ncclSuccess;
        gone = is_gone(meeting, rank);
        if (is_there(place, number)) /* its last word */
            return ncclSuccess;
        if (gone)
            return complain(ncclRemoteError, meeting, rank, "has ended");
        if (now_ms() > limit)
            return complain(ncclSystemError, meeting, rank,
                            "did not come in time (SIMNCCL_TIMEOUT_MS)");
        doze(meeting->shared, seen);
    }
}

static void put(struct sn_shared *shared, struct place *place, uint64_t number,
                const struct sn_word *word)
{
    place->word = *word;
    atomic_store(&place->number, number + 1);
    announce(shared);
}

/* ---- Meetings ---- */

ncclResult_t sn_meetAll(struct sn_meeting *meeting, const struct sn_word *word,
                        struct sn_word words[SIMNCCL_RANKS])
{
    uint64_t number = meeting->number++;
    struct place *places = meeting->shared->words[number % RING];
    ncclResult_t result = ncclSuccess;

    put(meeting->shared, &places[meeting->rank], number, word);
    for (int i = 0; i < meeting->nranks; i++) {
        ncclResult_t found = await(meeting, &places[i], number, i);

        if (found)
            return found;
        words[i] = places[i].word;
        if (words[i].signature != word->signature)
            result = complain(ncclInvalidUsage, meeting, i,
                              "has called another operation, or with another count");
    }
    return result;
}

uint64_t sn_comeToPair(struct sn_meeting *meeting, int peer, bool sends, const struct sn_word *word)
{
    uint64_t number = sends ? meeting->sent[peer]++ : meeting->received[peer]++;

    put(meeting->shared, &pair_place(meeting, peer, sends, number)[!sends], number, word);
    return number;
}

ncclResult_t sn_findPair(struct sn_meeting *meeting, int peer, bool sends, uint64_t number,
                         const struct sn_word *word, struct sn_word *other)
{
    const struct place *place = &pair_place(meeting, peer, sends, number)[sends];
    ncclResult_t result = await(meeting, place, number, peer);

    if (result)
        return result;
    *other = place->word;
    return other->signature == word->signature
               ? ncclSuccess
               : complain(ncclInvalidUsage, meeting, peer, "transfers another count");
}

/* ---- Coming and leaving ---- */

static bool lock_rank(const struct sn_meeting *meeting)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCKS + meeting->rank, .l_len = 1};

    return fcntl(meeting->file, F_SETLK, &lock) == 0;
}

static ncclResult_t map(struct sn_meeting *meeting)
{
    size_t bytes = shared_bytes(meeting->nranks);
    struct stat status;
    void *mapped;

    if (fstat(meeting->file, &status) != 0)
        return ncclSystemError;
    if ((size_t)status.st_size < bytes && ftruncate(meeting->file, (off_t)bytes) != 0)
        return ncclSystemError;
    mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, meeting->file, 0);
    if (mapped == MAP_FAILED)
        return ncclSystemError;
    meeting->shared = mapped;
    return ncclSuccess;
}

static ncclResult_t join(struct sn_meeting *meeting)
{
    uint32_t none = 0, count = (uint32_t)meeting->nranks;

    if (!atomic_compare_exchange_strong(&meeting->shared->nranks, &none, count) && none != count) {
        fprintf(stderr, "simnccl: rank %d: others say that there are %u ranks, not %u\n",
                meeting->rank, none, count);
        return ncclInvalidArgument;
    }
    if (!lock_rank(meeting) || atomic_load(&meeting->shared->joined[meeting->rank]))
        return complain(ncclInvalidUsage, meeting, meeting->rank, "is there already");
    atomic_store(&meeting->shared->joined[meeting->rank], (uint32_t)getpid());
    meeting->joined = true;
    announce(meeting->shared);
    return ncclSuccess;
}

ncclResult_t sn_meetingOpen(struct sn_meeting *meeting, uint64_t hash, int rank, int nranks)
{
    const char *folder = getenv("SIMNCCL_DIR");
    ncclResult_t result;

    *meeting = (struct sn_meeting){.rank = rank, .nranks = nranks};
    snprintf(meeting->path, sizeof(meeting->path), "%s/simnccl-%016llx", folder ? folder : "/tmp",
             (unsigned long long)hash);
    meeting->file = open(meeting->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (meeting->file < 0) {
        fprintf(stderr, "simnccl: cannot open %s: %s; set SIMNCCL_DIR to a folder of the job\n",
                meeting->path, strerror(errno));
        return ncclSystemError;
    }
    result = map(meeting);
    if (!result)
        result = join(meeting);
    if (result)
        sn_meetingClose(meeting);
    return result;
}

void sn_meetingClose(struct sn_meeting *meeting)
{
    struct sn_shared *shared = meeting->shared;

    if (shared) {
        if (meeting->joined && atomic_fetch_add(&shared->left, 1) + 1 == (uint32_t)meeting->nranks)
            unlink(meeting->path);
        announce(shared);
        munmap(shared, shared_bytes(meeting->nranks));
    }
    if (meeting->file >= 0)
        close(meeting->file);
    meeting->shared = NULL;
    meeting->file = -1;
}
