/* The recorder's end of `miniprof ctl`, whatever comes through its socket and whatever the program
 * does to its descriptors. Here are the recorder's own parts but for CUPTI, which is late with each
 * answer. An input is a list of actions, a byte each:
 *
 *     0x00 + i   client i connects, or leaves
 *     0x10 + i   client i sends a packet: a byte of length, and what it says
 *     0x20 + i   the program closes the connection i of the recorder and opens another file there
 *     0x30       a second passes for all connections
 *     others     the recorder serves
 *
 * A client gets one line, "ok " or "no ", and no file of the program is closed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

#include "base/process.h"
#include "record/core/clock.h"
#include "record/process/recorder.h"

#define CLIENTS   8
#define MAX_BYTES 20 /* of a packet; the recorder reads 15 */

static struct recorder recorder;
static int clients[CLIENTS];   /* -1: not connected */
static int planted[CTL_PEERS]; /* files of the program in place of connections; -1: none */

/* ---- The recorder ---- */

static void begin_recording(void)
{
    static const struct mp_writer_options options = {.level = 1};
    struct recording *recording = &recorder.recording;
    struct mp_writer *writer;

    expect(mp_writer_open(memfd_create("ctl", MFD_CLOEXEC), "", &options, &writer, NULL) == MP_OK);
    *recording = (struct recording){
        .path = recorder.output.path,
        .pool = &recorder.gpu.pool,
        .queue = &recorder.gpu.core.work,
        .logs = &recorder.gpu.core.logs,
        .waits = &recorder.waits,
        .edges = &recorder.graphs.edges,
        .profiled = &recorder.profiling.profiled,
        .gpu = &recorder.gpu,
        .stacks = &recorder.stacks,
        .host_nodes = &recorder.graphs.host_nodes,
        .step_names = recorder.baseline.names,
        .paths_lost = &recorder.graphs.origins.lost,
    };
    expect(recording_open(recording, writer, &recorder.gpu.cupti, &recorder.gpu.api, MP_CAPTURE_OFF,
                          false) == MP_OK);
    recorder.ranges.open = recorder.ranges.posted = recorder.ranges.over = false;
    recorder.ranges.begun = recorder.ranges.ended = 0;
    ctl_open(&recorder.ctl);
    expect(recorder.ctl.listener >= 0);
}

static void end_recording(void)
{
    ctl_close(&recorder.ctl);
    recording_end(&recorder.recording, mp_clock_now());
    expect(mp_writer_close(recorder.recording.writer, NULL) == MP_OK);
    recording_close(&recorder.recording);
}

static void make_recorder(void)
{
    static bool made;

    if (made)
        return;
    made = true;
    snprintf(recorder.output.path, sizeof recorder.output.path, "fuzz.mpt");
    snprintf(recorder.output.place, sizeof recorder.output.place, "/tmp/fuzz.mpt");
    expect(call_logs_open(&recorder.gpu.core.logs) == MP_OK);
    expect(work_queue_open(&recorder.gpu.core.work, 64) == MP_OK);
    edges_open(&recorder.graphs.edges);
    pthread_mutex_init(&recorder.ranges.lock, NULL);
    pthread_cond_init(&recorder.ranges.changed, NULL);
    recorder.ranges.max = 3;
    recorder.ranges.on = recorder.ranges.late = recorder.ranges.late_said = true;
    atomic_store(&recorder.gpu.flusher.done, INT32_MAX); /* it has nothing to flush */
    atomic_store(&recorder.gpu.core.phase, PHASE_RECORDING);
}

/* ---- Clients ---- */

static void expect_answer(int file)
{
    char answer[MP_CTL_ANSWER_BYTES + 8];
    ssize_t bytes = recv(file, answer, sizeof answer, MSG_DONTWAIT | MSG_TRUNC);

    if (bytes <= 0)
        return;
    expect(bytes > 3 && bytes < (ssize_t)sizeof answer && !memchr(answer, '\n', (size_t)bytes));
    expect(!memcmp(answer, MP_CTL_OK, 3) || !memcmp(answer, MP_CTL_NO, 3));
    expect(recv(file, answer, sizeof answer, MSG_DONTWAIT) <= 0); /* no second one */
}

static void leave(int *client)
{
    if (*client >= 0) {
        expect_answer(*client);
        close(*client);
    }
    *client = -1;
}

static void come_or_leave(int *client)
{
    if (*client >= 0) {
        leave(client);
        return;
    }
    *client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connect(*client, (struct sockaddr *)&recorder.ctl.address, recorder.ctl.address_bytes) != 0)
        leave(client);
}

static size_t send_packet(int client, const uint8_t *data, size_t size)
{
    size_t bytes = size ? data[0] % (MAX_BYTES + 1) : 0;

    bytes = bytes < size ? bytes : size ? size - 1 : 0;
    if (client >= 0 && size)
        (void)!send(client, data + 1, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    return size ? bytes + 1 : 0;
}

/* ---- The program ---- */

static void plant(unsigned peer)
{
    int file = recorder.ctl.peers[peer].file;
    int other;

    if (file < 0 || planted[peer] >= 0)
        return;
    other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    expect(dup2(other, file) == file);
    close(other);
    planted[peer] = file;
}

/* It is still the program's: nothing but the null device can be read to its end. */
static void unplant(unsigned peer)
{
    char byte;

    if (planted[peer] < 0)
        return;
    expect(read(planted[peer], &byte, 1) == 0);
    close(planted[peer]);
    planted[peer] = -1;
}

static size_t act(uint8_t action, const uint8_t *data, size_t size)
{
    switch (action >> 4) {
    case 0:
        come_or_leave(&clients[action % CLIENTS]);
        return 0;
    case 1:
        return send_packet(clients[action % CLIENTS], data, size);
    case 2:
        plant(action % CTL_PEERS);
        return 0;
    case 3:
        for (int i = 0; i < CTL_PEERS; i++)
            recorder.ctl.peers[i].until = 0;
        return 0;
    default:
        ctl_serve(&recorder);
        return 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_recorder();
    memset(clients, -1, sizeof clients);
    memset(planted, -1, sizeof planted);
    begin_recording();
    for (size_t at = 0; at < size; at++)
        at += act(data[at], data + at + 1, size - at - 1);
    ctl_serve(&recorder);
    end_recording();
    for (int i = 0; i < CLIENTS; i++)
        leave(&clients[i]);
    for (unsigned i = 0; i < CTL_PEERS; i++)
        unplant(i);
    return 0;
}
