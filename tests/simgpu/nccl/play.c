/*
 * play.c: when a kernel of NCCL ends, and the record of what was played.
 *
 * AllReduce, AllGather and ReduceScatter end once the last rank has come plus the transfer;
 * Broadcast waits for the root, at Reduce the root waits for all, Send and Recv wait for each
 * other; sends of up to SIMNCCL_BUFFERED bytes (0) end without their receives. The transfer takes
 * SIMNCCL_LATENCY_NS plus the bytes that cross a link (by nccl-tests' factors) over
 * SIMNCCL_BANDWIDTH, in bytes per microsecond, rounded up to the device's 32 ns. The operations of
 * one fused kernel are transferred one after the other, those of Send and Recv at the same time.
 */
#include "inside.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    struct simnccl_instance *items;
    size_t count, capacity;
} played = {.lock = PTHREAD_MUTEX_INITIALIZER};

size_t simnccl_instances(void)
{
    size_t count;

    pthread_mutex_lock(&played.lock);
    count = played.count;
    pthread_mutex_unlock(&played.lock);
    return count;
}

bool simnccl_instance(size_t index, struct simnccl_instance *instance)
{
    bool found;

    pthread_mutex_lock(&played.lock);
    found = index < played.count;
    if (found)
        *instance = played.items[index];
    pthread_mutex_unlock(&played.lock);
    return found;
}

static void keep(const struct simnccl_instance *instance)
{
    pthread_mutex_lock(&played.lock);
    if (played.count == played.capacity) {
        size_t capacity = played.capacity ? played.capacity * 2 : 64;
        void *more = realloc(played.items, capacity * sizeof(*played.items));

        if (more) {
            played.items = more;
            played.capacity = capacity;
        }
    }
    if (played.count < played.capacity)
        played.items[played.count++] = *instance;
    pthread_mutex_unlock(&played.lock);
}

bool sn_isTransfer(enum sn_call call)
{
    return call == SN_SEND || call == SN_RECV;
}

/* What crosses one link. */
static double wire_bytes(const struct sn_op *op)
{
    double n = op->comm->nranks, bytes = (double)op->bytes;

    if (op->call == SN_ALL_REDUCE)
        return bytes * 2 * (n - 1) / n;
    if (op->call == SN_ALL_GATHER || op->call == SN_REDUCE_SCATTER)
        return bytes * (n - 1); /* the message is one rank's share */
    return bytes;
}

static uint64_t transfer_time(const struct sn_op *op)
{
    double bandwidth = (double)env_number("SIMNCCL_BANDWIDTH", 100000);
    double latency = (double)env_number("SIMNCCL_LATENCY_NS", 10000);
    uint64_t ns = (uint64_t)(latency + wire_bytes(op) * 1000 / (bandwidth > 0 ? bandwidth : 1));

    return (ns + 31) / 32 * 32;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t signature(const struct sn_work *work)
{
    uint64_t hash = work->count;

    for (size_t i = 0; i < work->count; i++) {
        const struct sn_op *op = &work->ops[i];

        hash = mix(mix(hash, op->call), op->bytes);
        hash = mix(mix(hash, op->op), (uint64_t)(unsigned)op->peer);
    }
    return hash;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* From when on a collective can be transferred on this rank. */
static uint64_t can_transfer(const struct sn_op *op, const uint64_t arrival[SIMNCCL_RANKS])
{
    int rank = op->comm->rank;
    uint64_t last = arrival[rank];

    if (op->call == SN_BROADCAST)
        return later(last, arrival[op->peer]);
    if (op->call == SN_REDUCE && rank != op->peer)
        return last;
    for (int i = 0; i < op->comm->nranks; i++)
        last = later(last, arrival[i]);
    return last;
}

static struct simnccl_instance instance_of(const struct sn_op *op)
{
    return (struct simnccl_instance){.communicator = op->comm->hash,
                                     .function = sn_functionName(op->call),
                                     .bytes = op->bytes,
                                     .rank = op->comm->rank,
                                     .nranks = op->comm->nranks,
                                     .peer = op->peer,
                                     .transfer = transfer_time(op)};
}

static ncclResult_t play_collectives(const struct sn_work *work, uint64_t start, uint64_t *end)
{
    ncclComm_t comm = work->comm;
    struct sn_word word = {.time = start, .signature = signature(work)};
    struct sn_word words[SIMNCCL_RANKS];
    ncclResult_t result = sn_meetAll(&comm->meeting, &word, words);

    for (size_t i = 0; !result && i < work->count; i++) {
        struct simnccl_instance instance = instance_of(&work->ops[i]);

        for (int rank = 0; rank < comm->nranks; rank++)
            instance.arrival[rank] = words[rank].time;
        *end = later(*end, can_transfer(&work->ops[i], instance.arrival)) + instance.transfer;
        instance.number = comm->collectives++;
        instance.end = *end;
        keep(&instance);
    }
    return result;
}

static bool is_buffered(const struct sn_op *op)
{
    return op->call == SN_SEND && op->bytes <= (uint64_t)env_number("SIMNCCL_BUFFERED", 0);
}

static ncclResult_t find_partner(const struct sn_op *op, uint64_t number, uint64_t start,
                                 uint64_t *end)
{
    struct simnccl_instance instance = instance_of(op);
    struct sn_word word = {.time = start, .signature = op->bytes}, other;
    ncclResult_t result =
        sn_findPair(&op->comm->meeting, op->peer, op->call == SN_SEND, number, &word, &other);

    if (result)
        return result;
    instance.number = number;
    instance.arrival[op->comm->rank] = start;
    instance.arrival[op->peer] = other.time;
    instance.end = later(start, is_buffered(op) ? 0 : other.time) + instance.transfer;
    *end = later(*end, instance.end);
    keep(&instance);
    return ncclSuccess;
}

static ncclResult_t play_transfers(const struct sn_work *work, uint64_t start, uint64_t *end)
{
    uint64_t *numbers = calloc(work->count, sizeof(*numbers));
    ncclResult_t result = numbers ? ncclSuccess : ncclSystemError;

    /* All sides first, so that no rank waits for one that waits for it. */
    for (size_t i = 0; !result && i < work->count; i++) {
        const struct sn_op *op = &work->ops[i];
        struct sn_word word = {.time = start, .signature = op->bytes};

        numbers[i] = sn_comeToPair(&op->comm->meeting, op->peer, op->call == SN_SEND, &word);
    }
    for (size_t i = 0; !result && i < work->count; i++)
        result = find_partner(&work->ops[i], numbers[i], start, end);
    free(numbers);
    return result;
}

uint64_t sn_play(const void *params, uint64_t start)
{
    uint64_t common = simgpu_common_ns(start), end = common;
    const struct sn_work *work;
    ncclResult_t result;

    work = *(const struct sn_work *const *)params;
    result = atomic_load(&work->comm->failure);
    if (!result && work->comm->ended) {
        fprintf(stderr, "simnccl: a graph is launched whose communicator is destroyed\n");
        result = ncclInvalidUsage;
    }
    if (!result)
        result = sn_isTransfer(work->ops[0].call) ? play_transfers(work, common, &end)
                                                  : play_collectives(work, common, &end);
    if (result)
        atomic_store(&work->comm->failure, result);
    return simgpu_local_ns(end);
}
