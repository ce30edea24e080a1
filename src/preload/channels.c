/* The links between file numbers, and the stamps of who wrote. */
#include <stddef.h>
#include <unistd.h>

#include "preload/channels.h"
#include "preload/next.h"
#include "preload/objects.h"

#include "base/poison.h"

struct channel channels[CHANNELS];

void channels_link(int writer, int reader)
{
    struct channel *from = channels_at(writer);
    struct channel *to = channels_at(reader);

    if (!from || !to)
        return;
    atomic_store(&to->writer, (uint16_t)(writer + 1));
    atomic_store(&from->reader, (uint16_t)(reader + 1));
}

void channels_watch(int file, int epoll)
{
    struct channel *channel = channels_at(file);

    struct channel *instance = channels_at(epoll);

    if (!channel)
        return;
    if (instance)
        atomic_store(&instance->watches, true);
    atomic_store(&channel->epoll, instance ? (uint16_t)(epoll + 1) : 0);
}

/* A child of vfork runs in its parent's memory, but closes its own files. */
static bool is_vfork_child(void)
{
    return (uint32_t)LIBC(gettid)() != moments_thread();
}

/* Clears a link that leads to this number, but not one that leads to another by now. */
static void clear(_Atomic uint16_t *link, uint16_t number)
{
    atomic_compare_exchange_strong(link, &number, 0);
}

void channels_break(struct channel *channel)
{
    const uint16_t number = (uint16_t)(channel - channels + 1);

    if (is_vfork_child())
        return;
    uint16_t writer = atomic_exchange(&channel->writer, 0);
    if (writer)
        clear(&channels[writer - 1].reader, number);
    uint16_t reader = atomic_exchange(&channel->reader, 0);
    if (reader)
        clear(&channels[reader - 1].writer, number);
    atomic_store(&channel->epoll, 0);
    if (atomic_exchange(&channel->watches, false))
        for (unsigned i = 0; i < CHANNELS; i++)
            clear(&channels[i].epoll, number);
}

void channels_forget_range(unsigned first, unsigned last)
{
    for (unsigned file = first; file <= last && file < CHANNELS; file++)
        channels_forget((int)file);
}

static void stamp(struct channel *channel, uint64_t *now)
{
    if (!atomic_load(&channel->waited))
        return;
    *now = *now ? *now : moments_stamp();
    atomic_store(&channel->waker, *now);
}

void channels_stamp(int file)
{
    uint16_t reader = atomic_load(&channels[file].reader);
    uint16_t epoll = reader ? atomic_load(&channels[reader - 1].epoll) : 0;
    uint64_t now = 0;

    if (reader)
        stamp(&channels[reader - 1], &now);
    if (epoll)
        stamp(&channels[epoll - 1], &now);
}
