/*
 * comm.c: communicators. All ranks of one meet when it is made: each goes on when the last has
 * come. Its hash is that of the unique id, or of the parent's hash, the number of splits so far and
 * the colour, so it is the same on all ranks.
 */
#include "inside.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { INIT_COST = 1000000, DESTROY_COST = 100000 };

static const char id_mark[8] = "simnccl";

/* splitmix64's finaliser. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

ncclResult_t ncclGetVersion(int *version)
{
    if (!version)
        return ncclInvalidArgument;
    *version = (int)env_number("SIMNCCL_VERSION", 22809);
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[] = {"no error",
                                        "unhandled cuda error",
                                        "unhandled system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error",
                                        "NCCL operation in progress"};

    return (unsigned)result < sizeof(texts) / sizeof(texts[0]) ? texts[result]
                                                               : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    return comm ? ncclGetErrorString(atomic_load(&comm->failure)) : "";
}

/* With SIMNCCL_SEED the ids of a program are the same in every run. */
ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    static _Atomic uint64_t ids;
    uint64_t count = atomic_fetch_add(&ids, 1);
    long seed = env_number("SIMNCCL_SEED", 0);
    uint64_t number = mix((uint64_t)seed);
    struct timespec now;

    if (!id)
        return ncclInvalidArgument;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!seed)
        number = mix(mix((uint64_t)now.tv_sec << 30 | (uint64_t)now.tv_nsec) + (uint64_t)getpid());
    number = mix(number + count);
    memset(id, 0, sizeof(*id));
    memcpy(id->internal, id_mark, sizeof(id_mark));
    memcpy(id->internal + sizeof(id_mark), &number, sizeof(number));
    return ncclSuccess;
}

/* The host waits until all ranks have come. */
static ncclResult_t meet(ncclComm_t comm)
{
    struct sn_word word = {.time = simgpu_common_ns(simgpu_clock_ns()) + INIT_COST};
    struct sn_word words[SIMNCCL_RANKS];
    ncclResult_t result = sn_meetAll(&comm->meeting, &word, words);

    for (int i = 0; !result && i < comm->nranks; i++)
        if (words[i].time > word.time)
            word.time = words[i].time;
    simgpu_wait_until_ns(simgpu_local_ns(word.time));
    return result;
}

static ncclResult_t prepare(ncclComm_t comm)
{
    CUdevice device;

    if (cuCtxGetCurrent(&comm->context) || !comm->context || cuCtxGetDevice(&device))
        return ncclUnhandledCudaError;
    comm->device = device;
    return sn_kernelsLoad(comm);
}

static void read_name(ncclComm_t comm, const ncclConfig_t *config)
{
    if (config && config->size >= offsetof(ncclConfig_t, commName) + sizeof(config->commName) &&
        config->commName)
        snprintf(comm->name, sizeof(comm->name), "%s", config->commName);
}

static ncclResult_t make(ncclComm_t *out, uint64_t hash, int rank, int nranks,
                         const ncclConfig_t *config)
{
    ncclComm_t comm = calloc(1, sizeof(*comm));
    ncclResult_t result;

    if (!comm)
        return ncclSystemError;
    comm->hash = hash;
    comm->rank = rank;
    comm->nranks = nranks;
    comm->is_idle = nranks == 1 && env_number("SIMNCCL_ALONE", 0);
    read_name(comm, config);
    result = prepare(comm);
    if (!result)
        result = sn_meetingOpen(&comm->meeting, hash, rank, nranks);
    if (result) {
        free(comm);
        return result;
    }
    result = meet(comm);
    if (result) {
        sn_meetingClose(&comm->meeting);
        free(comm);
        return result;
    }
    sn_pluginOpen(comm);
    *out = comm;
    return ncclSuccess;
}

static ncclResult_t make_from_id(ncclComm_t *out, int nranks, const ncclUniqueId *id, int rank,
                                 const ncclConfig_t *config)
{
    uint64_t number;

    if (!out || nranks < 1 || nranks > SIMNCCL_RANKS || rank < 0 || rank >= nranks ||
        memcmp(id->internal, id_mark, sizeof(id_mark)) != 0) {
        fprintf(stderr, "simnccl: a communicator needs an id of ncclGetUniqueId and a rank below "
                        "its 1 to 64 ranks\n");
        return ncclInvalidArgument;
    }
    memcpy(&number, id->internal + sizeof(id_mark), sizeof(number));
    return make(out, mix(number), rank, nranks, config);
}

static struct sn_init_values init_values(const struct ncclComm *comm)
{
    return (struct sn_init_values){comm->hash, comm->nranks, comm->rank, comm->device};
}

static ncclResult_t init_rank(enum sn_call call, ncclComm_t *comm, int nranks,
                              const ncclUniqueId *id, int rank, const ncclConfig_t *config)
{
    struct sn_init_values values = {0, nranks, rank, 0};
    ncclResult_t result;

    (void)cuCtxGetDevice(&values.device);
    sn_nvtxPushInit(call, &values);
    result = make_from_id(comm, nranks, id, rank, config);
    if (result) {
        sn_nvtxPop();
        return result;
    }
    values = init_values(*comm);
    sn_nvtxPopInit(call, &values);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
    return init_rank(SN_COMM_INIT_RANK, comm, nranks, &id, rank, NULL);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    return init_rank(SN_COMM_INIT_RANK_CONFIG, comm, nranks, &id, rank, config);
}

/* ---- Splits ---- */

static bool comes_before(const struct sn_word *words, int a, int b)
{
    return words[a].key != words[b].key ? words[a].key < words[b].key : a < b;
}

static ncclResult_t split(ncclComm_t parent, int color, int key, ncclComm_t *out,
                          const ncclConfig_t *config)
{
    struct sn_word word = {.signature = SN_COMM_SPLIT, .color = color, .key = key};
    struct sn_word words[SIMNCCL_RANKS];
    ncclResult_t result = sn_meetAll(&parent->meeting, &word, words);
    uint64_t hash = mix(mix(parent->hash + parent->splits++) + (uint64_t)(unsigned)color);
    int rank = 0, nranks = 0;

    *out = NULL;
    if (result || color == NCCL_SPLIT_NOCOLOR)
        return result;
    for (int i = 0; i < parent->nranks; i++) {
        nranks += words[i].color == color;
        rank += words[i].color == color && comes_before(words, i, parent->rank);
    }
    return make(out, hash, rank, nranks, config);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
                           ncclConfig_t *config)
{
    ncclResult_t result = ncclInvalidArgument;

    sn_nvtxPush(SN_COMM_SPLIT);
    if (comm && newcomm && !comm->ended && color >= NCCL_SPLIT_NOCOLOR)
        result = split(comm, color, key, newcomm, config);
    if (result || !*newcomm) {
        sn_nvtxPop();
        return result;
    }
    sn_nvtxPopSplit(&(struct sn_split_values){(*newcomm)->hash, comm->hash, (*newcomm)->nranks,
                                              (*newcomm)->rank, comm->device, color, key});
    return ncclSuccess;
}

/* ---- Ends ---- */

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    sn_nvtxPush(SN_COMM_FINALIZE);
    if (!comm) {
        sn_nvtxPop();
        return ncclInvalidArgument;
    }
    sn_spend(DESTROY_COST);
    sn_nvtxPopFinalize(comm->hash);
    return ncclSuccess;
}

/* Its memory and its module stay, since graphs may still name them. */
static void keep_ended(ncclComm_t comm)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static ncclComm_t ended;

    pthread_mutex_lock(&lock);
    comm->older = ended;
    ended = comm;
    pthread_mutex_unlock(&lock);
}

static ncclResult_t destroy(enum sn_call call, ncclComm_t comm)
{
    struct sn_init_values values;

    if (!comm || comm->ended)
        return ncclInvalidArgument;
    values = init_values(comm);
    sn_nvtxPushInit(call, &values);
    sn_spend(DESTROY_COST);
    comm->ended = true;
    sn_meetingClose(&comm->meeting);
    sn_pluginClose(comm);
    keep_ended(comm);
    sn_nvtxPop();
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    return destroy(SN_COMM_DESTROY, comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    return destroy(SN_COMM_ABORT, comm);
}

/* ---- Queries ---- */

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result)
{
    if (!comm || !result)
        return ncclInvalidArgument;
    *result = atomic_load(&comm->failure);
    return ncclSuccess;
}

static ncclResult_t tell(const struct ncclComm *comm, const int *value, int *to)
{
    if (!comm || comm->ended || !to)
        return ncclInvalidArgument;
    *to = *value;
    return ncclSuccess;
}

ncclResult_t ncclCommCount(ncclComm_t comm, int *count)
{
    return tell(comm, &comm->nranks, count);
}

ncclResult_t ncclCommCuDevice(ncclComm_t comm, int *device)
{
    return tell(comm, &comm->device, device);
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank)
{
    return tell(comm, &comm->rank, rank);
}
