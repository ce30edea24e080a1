/* Which file numbers are written to wake a thread that reads or polls: eventfds, pipes and pairs of
 * sockets. Of other files the writer is not known: it may be another process, or the device.
 *
 *     write end --reader--> read end --epoll--> the epoll instance that looks at it
 *
 * As objects.h, but indexed by file number, without counts: a thread that reads sets a flag and
 * clears it. So of two threads that wait for one file the second may go without a waker. Numbers
 * from CHANNELS on have no places. close() breaks the links of a number,
 * and so does what puts another file in its place.
 */
#ifndef MP_PRELOAD_CHANNELS_H
#define MP_PRELOAD_CHANNELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CHANNELS      1024
#define CHANNEL_FILES 4u /* of one poll or select that are looked at */

struct channel {
    _Atomic uint64_t waker;  /* the last stamp */
    _Atomic uint16_t reader; /* 1 + where one reads what is written here; 0: unknown */
    _Atomic uint16_t writer; /* 1 + the number that has this one as its reader */
    _Atomic uint16_t epoll;  /* 1 + the epoll instance, if a file is in one */
    _Atomic bool waited;     /* a thread waits for it */
    _Atomic bool watches;    /* it may be an epoll instance that looks at files */
};
_Static_assert(sizeof(struct channel) == 16, "four in a line of the cache");

extern struct channel channels[CHANNELS];

static inline struct channel *channels_at(int file)
{
    return (unsigned)file < CHANNELS ? &channels[file] : NULL;
}

/* What is written to `writer` is read from `reader`; either may be -1: the call failed. */
void channels_link(int writer, int reader);

/* The epoll instance looks at the file, or no longer: -1. */
void channels_watch(int file, int epoll);

/* Breaks all links of a file number. */
void channels_break(struct channel *channel);

/* Leaves stamps for those who wait for what is written to the file. */
void channels_stamp(int file);

/* The file is about to be closed, or replaced. */
static inline void channels_forget(int file)
{
    struct channel *channel = channels_at(file);

    if (channel && (channel->reader | channel->writer | channel->epoll | channel->watches))
        channels_break(channel);
}

/* All from `first` to `last`. */
void channels_forget_range(unsigned first, unsigned last);

/* This thread is about to write to the file. */
static inline void channels_wake(int file)
{
    const struct channel *channel = channels_at(file);

    if (channel && atomic_load_explicit(&channel->reader, memory_order_relaxed))
        channels_stamp(file);
}

static inline void channels_enter(int file)
{
    struct channel *channel = channels_at(file);

    if (channel)
        atomic_store_explicit(&channel->waited, true, memory_order_relaxed);
}

static inline void channels_leave(int file)
{
    struct channel *channel = channels_at(file);

    if (channel)
        atomic_store_explicit(&channel->waited, false, memory_order_relaxed);
}

/* The last writer's stamp, 0 for none. */
static inline uint64_t channels_waker(int file)
{
    const struct channel *channel = channels_at(file);

    return channel ? atomic_load_explicit(&channel->waker, memory_order_acquire) : 0;
}

#endif
