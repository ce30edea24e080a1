/*
 * ledger.c: what the device's counters would have counted.
 *
 * Once somebody asks for it, every kernel and copy is noted with its final times. What a counter
 * was over a stretch of time follows from them by the rules below, which README.md states too, so
 * that a test can say the values without running anything.
 */
#include "simgpu.h"

#include <cupti_activity.h>
#include <fnmatch.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SMS        128
#define MAX_SLOWER 40 /* percent */

/* What kernels do, in percent: of the tensor pipes, instruction slots and warp slots of the SMs
 * that they run on, of the device's memory, and by which the clock is lower. The first pattern that
 * matches. */
static const struct profile {
    const char *pattern;
    double tensor, issue, occupancy, read, write, slower;
} profiles[] = {
    {"alpha", 0, 10, 50, 60, 20, 0},
    {"beta", 80, 40, 25, 10, 5, 0},
    {"gamma", 0, 20, 50, 70, 25, MAX_SLOWER},
    {"*gemm*", 90, 50, 12.5, 30, 10, 0},
    {"nccl*", 0, 5, 50, 1, 1, 0},
    {"*", 0, 20, 50, 20, 10, 0},
};

struct entry {
    uint32_t device;
    uint64_t start, end;
    struct simgpu_usage rate; /* a nanosecond of it */
};

static pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;
static size_t entry_count, entry_capacity;
static _Atomic bool kept;

void simgpu_ledger_keep(void)
{
    atomic_store(&kept, true);
}

static struct simgpu_usage kernel_rate(const struct simgpu_kernel *kernel)
{
    double blocks = (double)kernel->grid[0] * kernel->grid[1] * kernel->grid[2];
    double sms = blocks < SMS ? blocks / SMS : 1;
    const struct profile *profile = profiles;

    while (fnmatch(profile->pattern, kernel->name, 0) != 0)
        profile++;
    return (struct simgpu_usage){
        .busy = 100,
        .sms = 100 * sms,
        .tensor = profile->tensor * sms * (double)env_number("SIMGPU_TENSOR_PERCENT", 100) / 100,
        .issue = profile->issue * sms,
        .occupancy = profile->occupancy * sms,
        .read = profile->read,
        .write = profile->write,
        .slower = profile->slower,
    };
}

static struct simgpu_usage copy_rate(const struct simgpu_activity *activity, bool *peer)
{
    const struct simgpu_copy *copy = &activity->copy;
    double rate = activity->end > activity->start
                      ? (double)copy->bytes / (double)(activity->end - activity->start)
                      : 0;
    struct simgpu_usage usage = {.busy = 0};

    *peer = activity->kind == CUPTI_ACTIVITY_KIND_MEMCPY2;
    if (*peer)
        usage.nvlink_out = rate;
    else if (copy->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD)
        usage.bus_in = rate;
    else if (copy->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH)
        usage.bus_out = rate;
    return usage;
}

static void add(uint32_t device, const struct simgpu_activity *activity, struct simgpu_usage rate)
{
    if (entry_count == entry_capacity) {
        size_t capacity = entry_capacity ? 2 * entry_capacity : 1024;
        struct entry *grown = realloc(entries, capacity * sizeof(*grown));

        if (!grown)
            return;
        entries = grown;
        entry_capacity = capacity;
    }
    entries[entry_count++] = (struct entry){device, activity->start, activity->end, rate};
}

void sg_ledgerNote(const struct simgpu_activity *activity)
{
    bool peer = false;

    if (!atomic_load(&kept))
        return;
    pthread_mutex_lock(&ledger_lock);
    if (activity->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        add(activity->device, activity, kernel_rate(&activity->kernel));
    } else if (activity->kind == CUPTI_ACTIVITY_KIND_MEMCPY ||
               activity->kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {
        struct simgpu_usage rate = copy_rate(activity, &peer);

        add(peer ? activity->copy.src_device : activity->device, activity, rate);
        if (peer)
            add(activity->copy.dst_device, activity,
                (struct simgpu_usage){.nvlink_in = rate.nvlink_out});
    }
    pthread_mutex_unlock(&ledger_lock);
}

static void add_share(struct simgpu_usage *usage, const struct simgpu_usage *rate, double share)
{
    usage->sms += rate->sms * share;
    usage->tensor += rate->tensor * share;
    usage->issue += rate->issue * share;
    usage->occupancy += rate->occupancy * share;
    usage->read += rate->read * share;
    usage->write += rate->write * share;
    usage->bus_in += rate->bus_in * share;
    usage->bus_out += rate->bus_out * share;
    usage->nvlink_in += rate->nvlink_in * share;
    usage->nvlink_out += rate->nvlink_out * share;
}

static double at_most(double value, double max)
{
    return value < max ? value : max;
}

static int by_start(const void *a, const void *b)
{
    const struct sg_span *one = a, *other = b;

    return (one->start > other->start) - (one->start < other->start);
}

/* The share of a stretch in which a kernel runs, or only one that lowers the clock: kernels that
 * run at once count once. */
static double share_of_kernels(uint32_t device, uint64_t from, uint64_t to, bool slower)
{
    struct sg_span *spans = calloc(entry_count + 1, sizeof(*spans));
    uint64_t covered = from, sum = 0;
    size_t count = 0;

    for (size_t i = 0; spans && i < entry_count; i++)
        if (entries[i].device == device && entries[i].end > from && entries[i].start < to &&
            (slower ? entries[i].rate.slower : entries[i].rate.busy) > 0)
            spans[count++] = (struct sg_span){entries[i].start, entries[i].end};
    if (spans)
        qsort(spans, count, sizeof(*spans), by_start);
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = spans[i].start > covered ? spans[i].start : covered;
        uint64_t end = spans[i].end < to ? spans[i].end : to;

        sum += end > begin ? end - begin : 0;
        covered = end > covered ? end : covered;
    }
    free(spans);
    return to > from ? (double)sum / (double)(to - from) : 0;
}

struct simgpu_usage simgpu_usage(uint32_t device, uint64_t from, uint64_t to)
{
    struct simgpu_usage usage = {.busy = 0};

    pthread_mutex_lock(&ledger_lock);
    for (size_t i = 0; i < entry_count && to > from; i++) {
        const struct entry *entry = &entries[i];
        uint64_t begin = entry->start > from ? entry->start : from;
        uint64_t end = entry->end < to ? entry->end : to;

        if (entry->device == device && begin < end)
            add_share(&usage, &entry->rate, (double)(end - begin) / (double)(to - from));
    }
    usage.busy = 100 * share_of_kernels(device, from, to, false);
    usage.slower = MAX_SLOWER * share_of_kernels(device, from, to, true);
    pthread_mutex_unlock(&ledger_lock);
    usage.sms = at_most(usage.sms, 100);
    usage.tensor = at_most(usage.tensor, 100);
    usage.occupancy = at_most(usage.occupancy, 100);
    usage.read = at_most(usage.read, 100);
    usage.write = at_most(usage.write, 100);
    return usage;
}

void simgpu_ledger_forget(uint32_t device, uint64_t before)
{
    size_t left = 0;

    pthread_mutex_lock(&ledger_lock);
    for (size_t i = 0; i < entry_count; i++)
        if (entries[i].device != device || entries[i].end > before)
            entries[left++] = entries[i];
    entry_count = left;
    pthread_mutex_unlock(&ledger_lock);
}
