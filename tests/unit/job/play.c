/* Plays a job in virtual time, and finds its longest path by looking at all pairs of moments.
 */
#include "unit/job/play.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/trace_fixture.h"

enum { EVENTS = 2, QUEUED = 12, NO_MOMENT = UINT32_MAX };

/* ---- Programs ---- */

static uint64_t any(struct play *play, uint64_t below)
{
    return fixture_random(&play->seed) % below;
}

/* Even, so that halves are whole. */
static uint64_t some_time(struct play *play, uint64_t max)
{
    return 2 * (200 + any(play, max / 2));
}

static struct play_op *add_op(struct play *play, enum play_kind kind, uint32_t rank,
                              uint32_t stream)
{
    struct play_op *op = &play->ops[play->op_count++];

    *op = (struct play_op){.kind = kind, .rank = rank, .stream = stream, .fused = 1};
    for (uint32_t i = 0; i < play->ranks; i++)
        op->host[i] = some_time(play, any(play, 4) ? 3000 : 40000);
    return op;
}

/* Work that waits in its stream, so that the shortest latencies are seen. */
static void add_queue(struct play *play, uint32_t rank)
{
    for (uint32_t stream = 0; stream < PLAY_STREAMS; stream++) {
        for (unsigned i = 0; i < QUEUED; i++) {
            struct play_op *op = add_op(play, PLAY_KERNEL, rank, stream);

            op->name = PLAY_NAMES - 1;
            op->time = 30000;
            op->host[rank] = 400;
        }
    }
    add_op(play, PLAY_SYNC_ALL, rank, 0);
}

static void add_some(struct play *play, uint32_t rank)
{
    uint32_t stream = (uint32_t)any(play, PLAY_STREAMS);
    uint64_t dice = any(play, 12);
    struct play_op *op = add_op(play,
                                dice < 7    ? PLAY_KERNEL
                                : dice == 7 ? PLAY_SYNC_STREAM
                                : dice == 8 ? PLAY_SYNC_ALL
                                : dice == 9 ? PLAY_RECORD
                                            : PLAY_WAIT,
                                rank, stream);

    op->name = (uint32_t)any(play, PLAY_NAMES - 1);
    op->time = some_time(play, 60000);
    if (op->kind == PLAY_RECORD || op->kind == PLAY_WAIT)
        op->name = (uint32_t)any(play, EVENTS);
}

static void add_nccl(struct play *play)
{
    struct play_op *op = add_op(play, PLAY_NCCL, 0, (uint32_t)any(play, PLAY_STREAMS));

    op->function = (enum play_function)any(play, PLAY_RECV);
    op->root = (uint32_t)any(play, play->ranks);
    op->peer = (op->root + 1 + (uint32_t)any(play, play->ranks - 1)) % play->ranks;
    op->time = some_time(play, 30000);
    op->fused = op->function == PLAY_ALL_REDUCE && !any(play, 4) ? 3 : 1;
}

/* The same kernels on all ranks, then an all-reduce and a wait for it; one rank may be late. */
static void add_step(struct play *play)
{
    uint64_t host = some_time(play, 5000), time = some_time(play, 40000);
    uint32_t kernels = 1 + (uint32_t)any(play, 3),
             late = (uint32_t)any(play, UINT64_C(2) * play->ranks);
    struct play_op *op;

    for (uint32_t i = 0; i < kernels * play->ranks; i++) {
        op = add_op(play, PLAY_KERNEL, i % play->ranks, 0);
        op->time = time;
        op->host[op->rank] = host;
        if (i / play->ranks == 0 && op->rank == late) {
            op->planted[late] = 100000 + some_time(play, 400000);
            op->host[late] += op->planted[late];
        }
    }
    op = add_op(play, PLAY_NCCL, 0, 0);
    op->function = PLAY_ALL_REDUCE;
    op->time = some_time(play, 30000);
    for (uint32_t i = 0; i < play->ranks; i++)
        op->host[i] = host;
    for (uint32_t i = 0; i < play->ranks; i++)
        add_op(play, PLAY_SYNC_ALL, i, 0)->host[i] = host;
}

void play_make(struct play *play, uint64_t seed, enum play_form form)
{
    memset(play, 0, sizeof *play);
    play->seed = seed;
    play->ranks = 2 + (uint32_t)any(play, PLAY_RANKS - 1);
    for (uint32_t i = 0; i < play->ranks; i++) {
        play->start[i] = 1000000 + (form == PLAY_ANY ? any(play, 50000) : 0);
        add_queue(play, i);
    }
    for (uint64_t i = 2 + any(play, 4); i; i--) {
        if (form == PLAY_IN_STEP) {
            add_step(play);
            continue;
        }
        for (uint64_t k = any(play, UINT64_C(4) * play->ranks); k; k--)
            add_some(play, (uint32_t)any(play, play->ranks));
        add_nccl(play);
    }
    for (uint32_t i = 0; i < play->ranks; i++)
        add_op(play, PLAY_SYNC_ALL, i, 0);
}

/* ---- Playing ---- */

/* What a rank has come to: moments. */
struct rank {
    uint32_t thread;                     /* end of its last call */
    uint32_t streams[PLAY_STREAMS];      /* end of the last kernel */
    uint32_t held[PLAY_STREAMS][EVENTS]; /* and of what events made it wait for */
    uint32_t events[EVENTS][1 + EVENTS];
};

struct run {
    struct play *play;
    const struct play_changes *changes;
    struct rank ranks[PLAY_RANKS];
};

static uint32_t add_moment(struct play *play)
{
    struct play_moment *moment = &play->moments[play->moment_count];

    *moment = (struct play_moment){.first_edge = play->edge_count};
    return play->moment_count++;
}

/* The newest moment waits for an earlier one, and so long after it. */
static struct play_edge *wait_for(struct play *play, uint32_t from, uint64_t ns, uint32_t rank,
                                  unsigned what)
{
    struct play_edge *edge = &play->edges[play->edge_count];
    struct play_moment *moment = &play->moments[play->moment_count - 1];
    uint64_t time;

    if (from == NO_MOMENT)
        return NULL;
    time = play->moments[from].time + ns;
    *edge = (struct play_edge){from, ns, (uint8_t)rank, (uint8_t)what, false};
    play->edge_count++;
    moment->edges++;
    moment->time = time > moment->time ? time : moment->time;
    return edge;
}

/* What a time becomes. */
static uint64_t changed(const struct run *run, uint32_t rank, unsigned what, uint64_t ns)
{
    if (run->changes->halved[rank][what])
        return ns / 2;
    return run->changes->doubled[rank][what] ? 2 * ns : ns;
}

static uint64_t host_before(const struct run *run, const struct play_op *op, uint32_t rank)
{
    uint64_t planted = op->planted[rank];

    if (run->changes->no_host[rank])
        return 0;
    if (run->changes->half_late)
        return op->host[rank] - planted / 2;
    return op->host[rank] - (run->changes->no_late ? planted : 0);
}

/* The begin of a call. The first one of a rank begins when the rank does. */
static uint32_t begin_call(const struct run *run, const struct play_op *op, uint32_t rank)
{
    struct play *play = run->play;
    uint32_t begin = add_moment(play);

    if (run->ranks[rank].thread == NO_MOMENT)
        wait_for(play, 0, play->start[rank] - play->begin, rank, PLAY_HOST);
    else
        wait_for(play, run->ranks[rank].thread, host_before(run, op, rank), rank, PLAY_HOST);
    return begin;
}

static uint64_t time_of(const struct play *play, uint32_t moment)
{
    return play->moments[moment].time;
}

/* Where a kernel that is launched now begins. */
static uint32_t begin_kernel(const struct run *run, const struct play_op *op, uint32_t rank,
                             uint32_t call)
{
    struct play *play = run->play;
    const struct rank *of = &run->ranks[rank];
    uint32_t begin = add_moment(play);
    uint64_t gap = run->changes->no_gap ? 0 : PLAY_GAP;

    wait_for(play, call, run->changes->no_launch[rank] ? 0 : PLAY_LAUNCH, rank, PLAY_LATENCY);
    wait_for(play, of->streams[op->stream], gap, rank, PLAY_LATENCY);
    for (unsigned i = 0; i < EVENTS; i++)
        wait_for(play, of->held[op->stream][i], gap, rank, PLAY_LATENCY);
    return begin;
}

static void end_launch(struct run *run, uint32_t rank, uint32_t call)
{
    run->ranks[rank].thread = add_moment(run->play);
    wait_for(run->play, call, changed(run, rank, PLAY_LAUNCHES, PLAY_CALL), rank, PLAY_LAUNCHES);
}

static void add_row(struct run *run, const struct play_op *op, uint32_t rank, uint32_t call,
                    const uint32_t *kernel)
{
    struct play *play = run->play;

    play->rows[play->row_count++] = (struct play_row){
        .op = op,
        .rank = rank,
        .call = time_of(play, call),
        .call_end = time_of(play, run->ranks[rank].thread),
        .begin = kernel ? time_of(play, kernel[0]) : 0,
        .end = kernel ? time_of(play, kernel[1]) : 0,
    };
}

static void play_kernel(struct run *run, const struct play_op *op)
{
    struct play *play = run->play;
    uint32_t call = begin_call(run, op, op->rank), kernel[2];

    end_launch(run, op->rank, call);
    kernel[0] = begin_kernel(run, op, op->rank, call);
    kernel[1] = add_moment(play);
    wait_for(play, kernel[0], changed(run, op->rank, PLAY_KERNELS + op->name, op->time), op->rank,
             PLAY_KERNELS + op->name);
    run->ranks[op->rank].streams[op->stream] = kernel[1];
    add_row(run, op, op->rank, call, kernel);
}

/* The call ends after what it waits for, and takes the time of a return in any case. Where nothing
 * kept it that time is its own. */
static void play_sync(struct run *run, const struct play_op *op)
{
    struct play *play = run->play;
    struct rank *of = &run->ranks[op->rank];
    uint32_t call = begin_call(run, op, op->rank), end = add_moment(play);

    wait_for(play, call, changed(run, op->rank, PLAY_SYNCS, PLAY_RETURN), op->rank, PLAY_SYNCS);
    for (uint32_t i = 0; i < PLAY_STREAMS; i++) {
        if (op->kind == PLAY_SYNC_STREAM && i != op->stream)
            continue;
        wait_for(play, of->streams[i], PLAY_RETURN, op->rank, PLAY_LATENCY);
        for (unsigned k = 0; k < EVENTS; k++)
            wait_for(play, of->held[i][k], PLAY_RETURN, op->rank, PLAY_LATENCY);
    }
    of->thread = end;
    add_row(run, op, op->rank, call, NULL);
}

/* An event stands for its stream's last kernel, and for what holds the stream. */
static void play_event(struct run *run, const struct play_op *op)
{
    struct rank *of = &run->ranks[op->rank];
    uint32_t *event = of->events[op->name];
    uint32_t call = begin_call(run, op, op->rank);

    end_launch(run, op->rank, call);
    add_row(run, op, op->rank, call, NULL);
    if (op->kind == PLAY_RECORD) {
        event[0] = of->streams[op->stream];
        memcpy(&event[1], of->held[op->stream], sizeof of->held[op->stream]);
        return;
    }
    /* Both at most: one of each event. What holds it twice changes nothing, and all ends are held
     * that are not of its own stream before. */
    for (unsigned i = 0; i < 1 + EVENTS; i++) {
        uint32_t *held = of->held[op->stream];
        uint32_t *later = &held[op->name];

        if (event[i] == NO_MOMENT)
            continue;
        if (*later == NO_MOMENT || time_of(run->play, event[i]) > time_of(run->play, *later))
            *later = event[i];
    }
}

static bool takes_part(const struct play_op *op, uint32_t rank)
{
    return op->function != PLAY_SEND || rank == op->root || rank == op->peer;
}

static bool awaits(const struct play_op *op, uint32_t rank, uint32_t other)
{
    if (!takes_part(op, rank) || !takes_part(op, other))
        return false;
    if (op->function == PLAY_BROADCAST)
        return other == op->root || other == rank;
    return op->function != PLAY_REDUCE || rank == op->root || other == rank;
}

static unsigned function_of(const struct play_op *op, uint32_t rank)
{
    return PLAY_FUNCTIONS +
           (op->function == PLAY_SEND && rank == op->peer ? PLAY_RECV : op->function);
}

static void play_nccl(struct run *run, const struct play_op *op)
{
    struct play *play = run->play;
    uint32_t calls[PLAY_RANKS], arrivals[PLAY_RANKS];

    for (uint32_t rank = 0; rank < play->ranks; rank++) {
        if (!takes_part(op, rank))
            continue;
        calls[rank] = begin_call(run, op, rank);
        end_launch(run, rank, calls[rank]);
        arrivals[rank] = begin_kernel(run, op, rank, calls[rank]);
    }
    for (uint32_t rank = 0; rank < play->ranks; rank++) {
        uint32_t kernel[2], transfer, what = function_of(op, rank);

        if (!takes_part(op, rank))
            continue;
        transfer = add_moment(play);
        for (uint32_t other = 0; other < play->ranks; other++) {
            if (awaits(op, rank, other))
                wait_for(play, arrivals[other], 0, rank, PLAY_LATENCY)->own = other == rank;
        }
        kernel[0] = arrivals[rank];
        kernel[1] = add_moment(play);
        wait_for(play, transfer, changed(run, rank, what, op->fused * op->time), rank, what);
        run->ranks[rank].streams[op->stream] = kernel[1];
        add_row(run, op, rank, calls[rank], kernel);
    }
}

void play_run(struct play *play, const struct play_changes *changes)
{
    struct run run = {.play = play, .changes = changes};

    memset(run.ranks, 0xff, sizeof run.ranks); /* NO_MOMENT */
    play->row_count = play->edge_count = play->moment_count = 0;
    play->begin = play->start[0];
    for (uint32_t i = 1; i < play->ranks; i++)
        play->begin = play->start[i] < play->begin ? play->start[i] : play->begin;
    play->moments[add_moment(play)].time = play->begin;
    for (uint32_t i = 0; i < play->op_count; i++) {
        const struct play_op *op = &play->ops[i];

        if (op->kind == PLAY_NCCL)
            play_nccl(&run, op);
        else if (op->kind == PLAY_KERNEL)
            play_kernel(&run, op);
        else if (op->kind == PLAY_RECORD || op->kind == PLAY_WAIT)
            play_event(&run, op);
        else
            play_sync(&run, op);
    }
    play->end = 0;
    for (uint32_t i = 0; i < play->moment_count; i++)
        play->end = time_of(play, i) > play->end ? time_of(play, i) : play->end;
}

/* ---- The longest path ---- */

/* The edge from one moment to another, if there is any: the longest. */
static const struct play_edge *edge_between(const struct play *play, uint32_t from, uint32_t to)
{
    const struct play_moment *moment = &play->moments[to];
    const struct play_edge *found = NULL;

    for (uint32_t i = moment->first_edge; i < moment->first_edge + moment->edges; i++) {
        if (play->edges[i].from == from && (!found || play->edges[i].ns > found->ns))
            found = &play->edges[i];
    }
    return found;
}

/* Whether a path over `edge` is to be preferred to one over `other` that is as long: that of the
 * own rank, else that over the later moment. */
static bool is_preferred(const struct play_edge *edge, const struct play_edge *other)
{
    return edge->own || (!other->own && edge->from > other->from);
}

/* By the lengths of paths alone: the times that were played are not looked at. */
uint64_t play_longest(const struct play *play, uint64_t sums[PLAY_RANKS][PLAY_WHATS])
{
    static uint64_t length[PLAY_MOMENTS * PLAY_RANKS];
    static const struct play_edge *by[PLAY_MOMENTS * PLAY_RANKS];
    uint32_t last = 0;

    length[0] = 0;
    for (uint32_t to = 1; to < play->moment_count; to++) {
        length[to] = 0;
        by[to] = NULL;
        for (uint32_t from = 0; from < to; from++) {
            const struct play_edge *edge = edge_between(play, from, to);

            if (edge && (!by[to] || length[from] + edge->ns > length[to] ||
                         (length[from] + edge->ns == length[to] && is_preferred(edge, by[to])))) {
                length[to] = length[from] + edge->ns;
                by[to] = edge;
            }
        }
        last = length[to] > length[last] ? to : last;
    }
    memset(sums, 0, PLAY_RANKS * sizeof *sums);
    for (uint32_t at = last; at; at = by[at]->from)
        sums[by[at]->rank][by[at]->what] += by[at]->ns;
    return length[last];
}

/* ---- Traces ---- */

static const char *const functions[] = {"AllReduce", "AllGather", "Broadcast",
                                        "Reduce",    "Send",      "Recv"};

const char *play_name(uint32_t rank, unsigned what)
{
    static char name[64];

    if (what == PLAY_LAUNCHES)
        snprintf(name, sizeof name, "rank%" PRIu32 ":cudaLaunchKernel", rank);
    else if (what == PLAY_SYNCS)
        snprintf(name, sizeof name, "rank%" PRIu32 ":cudaSynchronize", rank);
    else if (what < PLAY_FUNCTIONS)
        snprintf(name, sizeof name, "rank%" PRIu32 ":k%u", rank, what - PLAY_KERNELS);
    else
        snprintf(name, sizeof name, "rank%" PRIu32 ":nccl%s", rank,
                 functions[what - PLAY_FUNCTIONS]);
    return name;
}

/* Ids of strings: kernels, functions of NCCL, then these. */
enum { STRING_LAUNCH = 30, STRING_SYNC, STRING_FUNCTIONS = 1, STRING_KERNELS = 10 };
enum { SHAPE_NCCL = PLAY_NAMES + 1, COMMUNICATOR_HASH = 0x77 };

static void write_string(struct mp_writer *writer, uint64_t id, const char *text)
{
    mp_append_string(writer, &(struct mp_row_string){id, {text, (uint32_t)strlen(text)}});
}

static void write_definitions(const struct play *play, uint32_t rank, struct mp_writer *writer)
{
    char name[64];

    mp_append_thread(writer, &(struct mp_row_thread){.id = 1, .tid = 4000 + rank});
    for (uint64_t i = 0; i < PLAY_FUNCTION_COUNT; i++)
        write_string(writer, STRING_FUNCTIONS + i, functions[i]);
    for (uint64_t i = 0; i <= PLAY_NAMES; i++) {
        snprintf(name, sizeof name, "k%" PRIu64, i);
        write_string(writer, STRING_KERNELS + i,
                     i == PLAY_NAMES ? "ncclDevKernel_Generic_RING_LL" : name);
        mp_append_shape(writer, &(struct mp_row_shape){.id = i + 1, .kernel = STRING_KERNELS + i});
    }
    write_string(writer, STRING_LAUNCH, "cudaLaunchKernel");
    write_string(writer, STRING_SYNC, "cudaSynchronize");
    for (uint64_t i = 0; i < 2; i++)
        mp_append_function(writer, &(struct mp_row_function){.id = i + 1,
                                                             .api = MP_api_runtime,
                                                             .cbid = i + 1,
                                                             .name = STRING_LAUNCH + i});
    for (uint64_t i = 0; i < PLAY_STREAMS; i++)
        mp_append_stream(writer, &(struct mp_row_stream){
                                     .id = i + 1, .stream = 13 + i, .context = 1, .device = 0});
    mp_append_communicator(
        writer,
        &(struct mp_row_communicator){
            .id = 1, .hash = COMMUNICATOR_HASH, .ranks = play->ranks, .rank = rank, .device = 0});
}

/* How many operations of the communicator, or of the pair, there were. */
struct numbers {
    uint64_t all, pairs[PLAY_RANKS][PLAY_RANKS];
};

static void write_operation(const struct play_row *row, struct numbers *numbers,
                            uint64_t correlation, struct mp_writer *writer)
{
    const struct play_op *op = row->op;
    bool pair = op->function == PLAY_SEND;
    unsigned function = function_of(op, row->rank) - PLAY_FUNCTIONS;

    for (uint32_t i = 0; i < op->fused; i++) {
        uint64_t number = pair ? ++numbers->pairs[op->root][op->peer] : ++numbers->all;
        uint64_t peer = pair && row->rank == op->root ? op->peer : op->root;

        if (op->function <= PLAY_ALL_GATHER)
            peer = UINT32_MAX;
        mp_append_collective(writer,
                             &(struct mp_row_collective){.thread = 1,
                                                         .function = STRING_FUNCTIONS + function,
                                                         .communicator = 1,
                                                         .number = number,
                                                         .bytes = 1000 + op->time,
                                                         .peer = peer,
                                                         .start = row->call,
                                                         .duration = row->call_end - row->call,
                                                         .correlation = correlation});
    }
}

static void write_sync(const struct play_row *row, uint64_t correlation, struct mp_writer *writer)
{
    static const unsigned kinds[] = {[PLAY_SYNC_STREAM] = MP_sync_kind_stream_synchronize,
                                     [PLAY_SYNC_ALL] = MP_sync_kind_context_synchronize,
                                     [PLAY_RECORD] = MP_sync_kind_event_record,
                                     [PLAY_WAIT] = MP_sync_kind_stream_wait_event};
    const struct play_op *op = row->op;
    bool event = op->kind == PLAY_RECORD || op->kind == PLAY_WAIT;

    mp_append_sync(writer, &(struct mp_row_sync){.thread = 1,
                                                 .kind = kinds[op->kind],
                                                 .context = 1,
                                                 .stream = op->kind == PLAY_SYNC_ALL
                                                               ? UINT32_MAX
                                                               : UINT64_C(13) + op->stream,
                                                 .event = event ? op->name + UINT64_C(1) : 0,
                                                 .start = row->call,
                                                 .duration = row->call_end - row->call,
                                                 .correlation = correlation});
}

void play_write(const struct play *play, uint32_t rank, struct mp_writer *writer)
{
    struct numbers numbers = {0};

    write_definitions(play, rank, writer);
    for (uint32_t i = 0; i < play->row_count; i++) {
        const struct play_row *row = &play->rows[i];
        const struct play_op *op = row->op;
        bool sync = op->kind == PLAY_SYNC_STREAM || op->kind == PLAY_SYNC_ALL;

        if (row->rank != rank)
            continue;
        mp_append_call(writer, &(struct mp_row_call){.thread = 1,
                                                     .function = sync ? 2 : 1,
                                                     .start = row->call,
                                                     .duration = row->call_end - row->call,
                                                     .correlation = i + 1});
        if (op->kind == PLAY_KERNEL || op->kind == PLAY_NCCL)
            mp_append_kernel(writer, &(struct mp_row_kernel){
                                         .stream = op->stream + 1,
                                         .shape = op->kind == PLAY_NCCL ? SHAPE_NCCL : op->name + 1,
                                         .start = row->begin,
                                         .duration = row->end - row->begin,
                                         .correlation = i + 1});
        else
            write_sync(row, i + 1, writer);
        if (op->kind == PLAY_NCCL)
            write_operation(row, &numbers, i + 1, writer);
    }
}
