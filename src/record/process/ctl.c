/* Serves `miniprof ctl` on the writer's thread. Nothing here waits for a client. */
#include "record/process/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process.h"
#include "base/settings/config.h"
#include "base/text/units.h"
#include "record/core/clock.h"
#include "record/process/range.h"
#include "record/process/recorder.h"

#include "base/poison.h"

#define REQUEST_BYTES 16
#define BACKLOG       64 /* connections that wait, and that are accepted in one round */

/* ---- The socket ---- */

void ctl_open(struct ctl *ctl)
{
    int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    for (size_t i = 0; i < CTL_PEERS; i++)
        ctl->peers[i].file = -1;
    ctl->listener = -1;
    ctl->open = true;
    ctl->address_bytes = mp_ctl_address(&ctl->address, mp_process_id());
    if (file < 0 || bind(file, (struct sockaddr *)&ctl->address, ctl->address_bytes) != 0 ||
        listen(file, BACKLOG) != 0) {
        mp_log_info("`miniprof ctl` will not find this process: %s", strerror(errno));
        if (file >= 0)
            close(file);
        return;
    }
    ctl->listener = file;
}

/* Whether the descriptor is still the socket of this name. */
static bool is_ours(const struct ctl *ctl, int file)
{
    struct sockaddr_un address;
    socklen_t bytes = sizeof(address);

    memset(&address, 0, sizeof(address));
    return file >= 0 && getsockname(file, (struct sockaddr *)&address, &bytes) == 0 &&
           bytes == ctl->address_bytes && memcmp(&address, &ctl->address, bytes) == 0;
}

static void close_ours(const struct ctl *ctl, int *file)
{
    if (is_ours(ctl, *file))
        close(*file);
    *file = -1;
}

void ctl_close(struct ctl *ctl)
{
    if (!ctl->open)
        return;
    ctl->open = false;
    for (size_t i = 0; i < CTL_PEERS; i++)
        close_ours(ctl, &ctl->peers[i].file);
    close_ours(ctl, &ctl->listener);
}

/* ---- Answers ---- */

static void describe_file(struct recorder *recorder, char *text, size_t size)
{
    struct mp_writer_totals totals;

    if (recorder->flight.on) {
        flight_describe(recorder, text, size);
        return;
    }
    mp_writer_totals(recorder->recording.writer, &totals);
    snprintf(text, size, "%s records, %s bytes, %s dropped, %s", mp_count(totals.event_rows).text,
             mp_count(totals.bytes).text,
             mp_count(quality_dropped(&recorder->recording.quality)).text, recorder->output.path);
}

static const char *trigger(struct recorder *recorder, bool begins, char *text, size_t size)
{
    enum range_answer answer = range_trigger(recorder, begins);
    uint64_t number;
    bool over;

    range_is_open(recorder, &number, &over);
    switch (answer) {
    case RANGE_DONE:
        snprintf(text, size, "range %llu %s", (unsigned long long)number,
                 begins ? "begins" : "has ended");
        return MP_CTL_OK;
    case RANGE_LATE:
        snprintf(text, size,
                 "range %llu has ended, but CUPTI does not answer: its last records come later or "
                 "are missing",
                 (unsigned long long)number);
        return MP_CTL_OK;
    case RANGE_IS_OPEN:
        snprintf(text, size, "range %llu is being recorded already", (unsigned long long)number);
        break;
    case RANGE_IS_OVER:
        snprintf(text, size, "all ranges that MINIPROF_CAPTURE_END or the schedule wants are over");
        break;
    case RANGE_IS_CLOSED:
    case RANGE_NOT_NOW:
        snprintf(text, size, "nothing is being recorded");
        break;
    }
    return MP_CTL_NO;
}

/* Flushes CUPTI and the file: what the threads have handed over up to now is in the file
 * afterwards. */
static const char *dump(struct recorder *recorder, char *text, size_t size)
{
    const struct flight_trigger trigger = {.reason = "miniprof ctl", .time = mp_clock_now()};

    if (recorder->flight.on)
        return flight_write(recorder, &trigger, text, size) ? MP_CTL_OK : MP_CTL_NO;
    recording_gather(&recorder->recording, mp_time_limit_ms(MP_TIME_CTL_DUMP));
    recording_round(&recorder->recording);
    recording_flush(&recorder->recording);
    describe_file(recorder, text, size);
    return MP_CTL_OK;
}

static const char *status(struct recorder *recorder, char *text, size_t size)
{
    char file[MP_CTL_ANSWER_BYTES - 64];
    uint64_t number;
    bool over;
    bool open = range_is_open(recorder, &number, &over);

    describe_file(recorder, file, sizeof(file));
    if (open)
        snprintf(text, size, "recording range %llu, %s", (unsigned long long)number, file);
    else
        snprintf(text, size, "%s, %s range%s, %s", over ? "over" : "waiting", mp_count(number).text,
                 number == 1 ? "" : "s", file);
    return MP_CTL_OK;
}

/* The answer for a program that follows the file: the whole line is the file's absolute path. */
static const char *where(struct recorder *recorder, char *text, size_t size)
{
    if (recorder->flight.on) {
        snprintf(text, size,
                 "the flight recorder keeps the trace in memory: there is no file to "
                 "follow");
        return MP_CTL_NO;
    }
    snprintf(text, size, "%s", recorder->output.place);
    return MP_CTL_OK;
}

static const char *answer(struct recorder *recorder, const char *request, char *text, size_t size)
{
    if (!core_is_recording(&recorder->gpu.core)) {
        snprintf(text, size, "it is just starting or ending");
        return MP_CTL_NO;
    }
    if (strcmp(request, "start") == 0 || strcmp(request, "stop") == 0)
        return trigger(recorder, strcmp(request, "start") == 0, text, size);
    if (strcmp(request, "dump") == 0)
        return dump(recorder, text, size);
    if (strcmp(request, "status") == 0)
        return status(recorder, text, size);
    if (strcmp(request, "where") == 0)
        return where(recorder, text, size);
    snprintf(text, size, "this recorder knows start, stop, dump, status and where");
    return MP_CTL_NO;
}

/* ---- Requests ---- */

static bool is_allowed(int file)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    return getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static void send_answer(int file, const char *word, const char *text)
{
    char packet[MP_CTL_ANSWER_BYTES + 8];
    int bytes = snprintf(packet, sizeof(packet), "%s%s", word, text);
    ssize_t ignored = send(file, packet, (size_t)bytes, MSG_NOSIGNAL | MSG_DONTWAIT);

    (void)ignored; /* a client that does not read gets no answer */
}

/* Reads the request before it closes: closing with unread bytes would reset the connection, and the
 * answer would be lost. */
static void refuse(int file)
{
    char request[REQUEST_BYTES];
    ssize_t ignored = recv(file, request, sizeof(request), MSG_DONTWAIT);

    (void)ignored;
    send_answer(file, MP_CTL_NO, "the process belongs to another user");
    close(file);
}

/* A free place; if there is none, the place of the connection that has waited longest. */
static struct ctl_peer *find_place(struct ctl *ctl)
{
    struct ctl_peer *place = &ctl->peers[0];

    for (size_t i = 0; i < CTL_PEERS && place->file >= 0; i++)
        if (ctl->peers[i].file < 0 || ctl->peers[i].until < place->until)
            place = &ctl->peers[i];
    return place;
}

static void serve(struct recorder *recorder, struct ctl_peer *peer)
{
    struct ctl *ctl = &recorder->ctl;
    char request[REQUEST_BYTES];
    char text[MP_CTL_ANSWER_BYTES];
    const char *word;

    if (!is_ours(ctl, peer->file)) {
        peer->file = -1;
        return;
    }
    ssize_t bytes = recv(peer->file, request, sizeof(request) - 1, MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR) && mp_monotonic_ms() < peer->until)
        return; /* later */
    if (bytes > 0) {
        request[bytes] = '\0';
        word = answer(recorder, request, text, sizeof(text));
        send_answer(peer->file, word, text);
    }
    close_ours(ctl, &peer->file);
}

static void take_connections(struct recorder *recorder)
{
    struct ctl *ctl = &recorder->ctl;

    if (!is_ours(ctl, ctl->listener)) {
        ctl->listener = -1;
        return;
    }
    for (int i = 0; i < BACKLOG; i++) {
        int file = accept4(ctl->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (file < 0)
            return;
        if (!is_allowed(file)) {
            refuse(file);
            continue;
        }
        struct ctl_peer *place = find_place(ctl);
        serve(recorder, place); /* its request may have come by now */
        close_ours(ctl, &place->file);
        *place = (struct ctl_peer){
            .file = file, .until = mp_monotonic_ms() + mp_time_limit_ms(MP_TIME_CTL_REQUEST)};
    }
}

void ctl_serve(struct recorder *recorder)
{
    take_connections(recorder);
    for (size_t i = 0; i < CTL_PEERS; i++)
        serve(recorder, &recorder->ctl.peers[i]);
}
