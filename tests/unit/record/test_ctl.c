/* What `miniprof ctl` gets told: a client of our own sends one word through the socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process.h"
#include "record/process/ctl.h"
#include "record/process/recorder.h"

#include "base/poison.h"

static struct recorder recorder;

static int listen_for_clients(void **state)
{
    (void)state;
    memset(&recorder, 0, sizeof(recorder));
    memcpy(recorder.output.place, "/tmp/a.mpt", sizeof("/tmp/a.mpt"));
    ctl_open(&recorder.ctl);
    return recorder.ctl.listener < 0;
}

static int stop_listening(void **state)
{
    (void)state;
    ctl_close(&recorder.ctl);
    return 0;
}

static void expect_answer(enum recorder_phase phase, const char *request, const char *expected)
{
    struct sockaddr_un address;
    socklen_t bytes = mp_ctl_address(&address, getpid());
    int client = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    char answer[200] = "";

    atomic_store(&recorder.gpu.core.phase, phase);
    assert_int_equal(connect(client, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(send(client, request, strlen(request), 0), strlen(request));
    ctl_serve(&recorder);
    assert_true(recv(client, answer, sizeof(answer) - 1, MSG_DONTWAIT) > 0);
    assert_string_equal(answer, expected);
    close(client);
}

static void a_recording_answers(void **state)
{
    (void)state;
    expect_answer(PHASE_RECORDING, "where", "ok /tmp/a.mpt");
    expect_answer(PHASE_RECORDING, "when",
                  "no this recorder knows start, stop, dump, status and where");
    recorder.flight.on = true;
    expect_answer(PHASE_RECORDING, "where",
                  "no the flight recorder keeps the trace in memory: there is no file to follow");
}

static void what_does_not_record_yet_knows_nothing(void **state)
{
    (void)state;
    expect_answer(PHASE_STARTING, "where", "no it is just starting or ending");
    expect_answer(PHASE_STARTING, "start", "no it is just starting or ending");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_recording_answers, listen_for_clients, stop_listening),
        cmocka_unit_test_setup_teardown(what_does_not_record_yet_knows_nothing, listen_for_clients,
                                        stop_listening),
    };

    return cmocka_run_group_tests_name("record/ctl", tests, NULL, NULL);
}
