/* poll, epoll_wait and select. Without a time to wait they are passed on. Otherwise the first few
 * files that they look at are flagged as waited for.
 */
#undef _FORTIFY_SOURCE /* which defines some of these functions in the headers */

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "preload/channels.h"
#include "preload/waits.h"

#include "base/poison.h"

struct polling {
    struct moments_mark mark;
    int files[CHANNEL_FILES];
    unsigned count;
};

static void add_file(struct polling *polling, int file)
{
    if (file < 0 || polling->count == CHANNEL_FILES)
        return;
    polling->files[polling->count++] = file;
    channels_enter(file);
}

/* ---- poll ---- */

static void begin_poll(struct polling *polling, const struct pollfd *files, nfds_t count)
{
    polling->count = 0;
    for (nfds_t i = 0; i < count && i < CHANNEL_FILES; i++)
        add_file(polling, files[i].fd);
    polling->mark = moments_mark();
}

/* Tells of a long wait; its file and its waker are those of the ready file that was written last.
 */
static void end(const struct polling *polling, enum mp_preload_wait_kind kind, int result,
                bool (*is_ready)(const void *context, int file), const void *context)
{
    uint64_t begin, finish;
    uint64_t latest = 0;
    int file = polling->count ? polling->files[0] : -1;

    for (unsigned i = 0; i < polling->count; i++)
        channels_leave(polling->files[i]);
    if (!moments_waited(polling->mark, &begin, &finish))
        return;
    for (unsigned i = 0; result > 0 && i < polling->count; i++) {
        uint64_t stamp = channels_waker(polling->files[i]);

        if (!is_ready(context, polling->files[i]))
            continue;
        if (!latest || (stamp && moments_time_of(stamp, finish) > moments_time_of(latest, finish)))
            file = polling->files[i];
        latest = file == polling->files[i] ? stamp : latest;
    }
    waits_tell(kind, file < 0 ? UINT64_MAX : (uint64_t)file, begin, finish, latest);
}

struct polled {
    const struct pollfd *files;
    nfds_t count;
};

static bool poll_is_ready(const void *context, int file)
{
    const struct polled *polled = context;

    for (nfds_t i = 0; i < polled->count && i < CHANNEL_FILES; i++)
        if (polled->files[i].fd == file)
            return polled->files[i].revents != 0;
    return false;
}

static int end_poll(const struct polling *polling, const struct pollfd *files, nfds_t count,
                    int result)
{
    const struct polled polled = {files, count};

    end(polling, MP_WAIT_POLL, result, poll_is_ready, &polled);
    return result;
}

SHOWN int poll(struct pollfd *files, nfds_t count, int ms)
{
    struct polling polling;

    if (ms == 0 || !waits_wanted(CALLER))
        return NEXT(poll)(files, count, ms);
    begin_poll(&polling, files, count);
    return end_poll(&polling, files, count, NEXT(poll)(files, count, ms));
}

SHOWN int ppoll(struct pollfd *files, nfds_t count, const struct timespec *time,
                const sigset_t *signals)
{
    struct polling polling;

    if (!waits_wanted(CALLER))
        return NEXT(ppoll)(files, count, time, signals);
    begin_poll(&polling, files, count);
    return end_poll(&polling, files, count, NEXT(ppoll)(files, count, time, signals));
}

/* What _FORTIFY_SOURCE makes of them in programs. */
int __poll_chk(struct pollfd *files, nfds_t count, int ms, size_t bytes);
int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *time,
                const sigset_t *signals, size_t bytes);

SHOWN int __poll_chk(struct pollfd *files, nfds_t count, int ms, size_t bytes)
{
    struct polling polling;

    if (ms == 0 || !waits_wanted(CALLER) || bytes / sizeof *files < count)
        return NEXT(__poll_chk)(files, count, ms, bytes);
    begin_poll(&polling, files, count);
    return end_poll(&polling, files, count, NEXT(__poll_chk)(files, count, ms, bytes));
}

SHOWN int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *time,
                      const sigset_t *signals, size_t bytes)
{
    struct polling polling;

    if (!waits_wanted(CALLER) || bytes / sizeof *files < count)
        return NEXT(__ppoll_chk)(files, count, time, signals, bytes);
    begin_poll(&polling, files, count);
    return end_poll(&polling, files, count, NEXT(__ppoll_chk)(files, count, time, signals, bytes));
}

/* ---- epoll ---- */

static void begin_epoll(struct polling *polling, int epoll)
{
    polling->count = 0;
    add_file(polling, epoll);
    polling->mark = moments_mark();
}

static bool epoll_is_ready(const void *context, int file)
{
    (void)context;
    (void)file;
    return true;
}

static int end_epoll(const struct polling *polling, int result)
{
    end(polling, MP_WAIT_EPOLL, result, epoll_is_ready, NULL);
    return result;
}

SHOWN int epoll_wait(int epoll, struct epoll_event *events, int max, int ms)
{
    struct polling polling;

    if (ms == 0 || !waits_wanted(CALLER))
        return NEXT(epoll_wait)(epoll, events, max, ms);
    begin_epoll(&polling, epoll);
    return end_epoll(&polling, NEXT(epoll_wait)(epoll, events, max, ms));
}

SHOWN int epoll_pwait(int epoll, struct epoll_event *events, int max, int ms,
                      const sigset_t *signals)
{
    struct polling polling;

    if (ms == 0 || !waits_wanted(CALLER))
        return NEXT(epoll_pwait)(epoll, events, max, ms, signals);
    begin_epoll(&polling, epoll);
    return end_epoll(&polling, NEXT(epoll_pwait)(epoll, events, max, ms, signals));
}

int epoll_pwait2(int epoll, struct epoll_event *events, int max, const struct timespec *time,
                 const sigset_t *signals);

SHOWN int epoll_pwait2(int epoll, struct epoll_event *events, int max, const struct timespec *time,
                       const sigset_t *signals)
{
    struct polling polling;

    if (!waits_wanted(CALLER))
        return NEXT(epoll_pwait2)(epoll, events, max, time, signals);
    begin_epoll(&polling, epoll);
    return end_epoll(&polling, NEXT(epoll_pwait2)(epoll, events, max, time, signals));
}

SHOWN int epoll_ctl(int epoll, int operation, int file, struct epoll_event *event)
{
    int result = NEXT(epoll_ctl)(epoll, operation, file, event);

    if (result == 0 && operation != EPOLL_CTL_MOD)
        channels_watch(file, operation == EPOLL_CTL_ADD ? epoll : -1);
    return result;
}

/* ---- select ---- */

#define WORD_BITS ((int)(8 * sizeof(unsigned long)))

/* Those of one word of the set, from number `first` on. */
static void add_files(struct polling *polling, int first, unsigned long word)
{
    for (; word && polling->count < CHANNEL_FILES; word &= word - 1)
        add_file(polling, first + __builtin_ctzl(word));
}

static void begin_select(struct polling *polling, int count, const fd_set *reads)
{
    polling->count = 0;
    for (int first = 0; reads && first < count && first < FD_SETSIZE; first += WORD_BITS)
        add_files(polling, first, (unsigned long)__FDS_BITS(reads)[first / WORD_BITS]);
    polling->mark = moments_mark();
}

static bool select_is_ready(const void *context, int file)
{
    const fd_set *reads = context;

    return FD_ISSET(file, reads);
}

static int end_select(const struct polling *polling, const fd_set *reads, int result)
{
    end(polling, MP_WAIT_SELECT, result, select_is_ready, reads);
    return result;
}

SHOWN int select(int count, fd_set *reads, fd_set *writes, fd_set *errors, struct timeval *time)
{
    struct polling polling;

    if (!waits_wanted(CALLER))
        return NEXT(select)(count, reads, writes, errors, time);
    begin_select(&polling, count, reads);
    return end_select(&polling, reads, NEXT(select)(count, reads, writes, errors, time));
}

SHOWN int pselect(int count, fd_set *reads, fd_set *writes, fd_set *errors,
                  const struct timespec *time, const sigset_t *signals)
{
    struct polling polling;

    if (!waits_wanted(CALLER))
        return NEXT(pselect)(count, reads, writes, errors, time, signals);
    begin_select(&polling, count, reads);
    return end_select(&polling, reads, NEXT(pselect)(count, reads, writes, errors, time, signals));
}
