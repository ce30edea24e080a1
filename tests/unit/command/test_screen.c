/* Lines on a terminal: where they are broken, and the line about what takes long. The function that
 * breaks a line is static, so its source is compiled in here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/terminal.h"

#include "cli/screen.c" /* NOLINT(bugprone-suspicious-include) */

static char printed[4096];
static size_t printed_bytes;

static bool keep(const char *text, size_t bytes)
{
    assert_true(printed_bytes + bytes < sizeof printed);
    memcpy(printed + printed_bytes, text, bytes);
    printed_bytes += bytes;
    printed[printed_bytes] = '\0';
    return true;
}

static void assert_wrapped(const char *line, unsigned width, bool colour, const char *expected)
{
    printed_bytes = 0;
    assert_true(wrap_line(line, strlen(line), width, colour, keep));
    assert_string_equal(printed, expected);
}

static void lines_that_fit_stay(void **state)
{
    (void)state;
    assert_wrapped("", 10, false, "\n");
    assert_wrapped("0123456789", 10, false, "0123456789\n");
    assert_wrapped("any length", 0, false, "any length\n");
    assert_wrapped("\xe2\x80\xa6 is one", 8, false, "\xe2\x80\xa6 is one\n");
}

static void lines_are_broken_at_words(void **state)
{
    (void)state;
    assert_wrapped("one two three four", 10, false, "one two\n  three\n  four\n");
    assert_wrapped("  one two three four", 12, false, "  one two\n    three\n    four\n");
}

static void what_follows_stands_below_its_begin(void **state)
{
    (void)state;
    assert_wrapped("==12== a note that is long", 24, false, "==12== a note that is\n       long\n");
    assert_wrapped("key    a value that is long", 20, false,
                   "key    a value that\n       is long\n");
}

static void words_longer_than_a_line_are_cut(void **state)
{
    (void)state;
    assert_wrapped("abcdefghijklmnopqrstuvwxyz", 10, false, "abcdefghij\n  klmnopqr\n  stuvwxyz\n");
}

static void colours_take_no_room(void **state)
{
    (void)state;
    assert_wrapped("\033[1m0123456789\033[0m", 10, false, "\033[1m0123456789\033[0m\n");
    assert_wrapped("==1== Warning: bad", 80, true, "\033[33m==1== Warning: bad\033[0m\n");
    assert_wrapped("==1== Note: good", 80, true, "\033[2m==1== Note: good\033[0m\n");
    assert_wrapped("Warning: not ours", 80, true, "Warning: not ours\n");
}

/* ---- Progress ---- */

/* A second goes by: what the timer would do, which is stopped. */
static void second(void)
{
    const struct itimerval none = {.it_value.tv_sec = 0};

    setitimer(ITIMER_REAL, &none, NULL);
    raise(SIGALRM);
}

static void work_on_one(unsigned seconds)
{
    progress_begin("folder/big.mpt");
    while (seconds--)
        second();
    progress_end();
}

/* Changes the numbers ten times, and is interrupted once. */
static void work_on_many(unsigned seconds)
{
    for (size_t i = 0; i < 10; i++) {
        progress_count(i, 10);
        if (seconds && (i == 1 || i == 4))
            second();
        if (i == 1)
            progress_end();
    }
    progress_end();
}

/* Until the timer has gone off once. */
static void work_until_alarm(unsigned unused)
{
    sigset_t none;

    (void)unused;
    sigemptyset(&none);
    progress_begin("folder/big.mpt");
    sigsuspend(&none);
    progress_end();
}

/* What a process prints on a terminal that works for so long. */
static void watch_work(void (*work)(unsigned), unsigned seconds, const char *term)
{
    struct winsize size = {.ws_row = 24, .ws_col = 60};
    int terminal;
    pid_t pid = forkpty(&terminal, NULL, NULL, &size);
    ssize_t bytes;

    assert_true(pid >= 0);
    if (pid == 0) {
        setenv("TERM", term, 1);
        signal(SIGALRM, SIG_IGN); /* until there is progress to show */
        work(seconds);
        _exit(0);
    }
    printed_bytes = 0;
    printed[0] = '\0';
    while ((bytes = read(terminal, printed + printed_bytes, sizeof printed - printed_bytes - 1)) >
           0) {
        printed_bytes += (size_t)bytes;
        printed[printed_bytes] = '\0';
    }
    close(terminal);
}

static void a_count_goes_on_when_its_numbers_change(void **state)
{
    (void)state;
    watch_work(work_on_many, 2, "xterm");
    assert_non_null(strstr(printed, "added 1 of 10: 1 s"));
    assert_non_null(strstr(printed, "added 4 of 10: 2 s"));
    assert_null(strstr(printed, "added 0 of 10"));
    assert_int_equal(printed[printed_bytes - 1], '\r');
    watch_work(work_on_many, 0, "xterm");
    assert_int_equal(printed_bytes, 0);
}

static void what_takes_over_a_second_says_so_and_wipes_it(void **state)
{
    (void)state;
    watch_work(work_on_one, 2, "xterm");
    assert_non_null(strstr(printed, "\rreading 'folder/big.mpt': 1 s\r"));
    assert_non_null(strstr(printed, "\rreading 'folder/big.mpt': 2 s\r"));
    assert_int_equal(printed[printed_bytes - 1], '\r');
    assert_int_equal(printed[printed_bytes - 2], ' ');
}

static void a_timer_counts_the_seconds(void **state)
{
    (void)state;
    watch_work(work_until_alarm, 0, "xterm");
    assert_non_null(strstr(printed, "reading 'folder/big.mpt': 1 s"));
}

static void what_is_quick_says_nothing(void **state)
{
    (void)state;
    watch_work(work_on_one, 0, "xterm");
    assert_string_equal(printed, "");
    watch_work(work_on_one, 2, "dumb");
    assert_string_equal(printed, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_fit_stay),
        cmocka_unit_test(lines_are_broken_at_words),
        cmocka_unit_test(what_follows_stands_below_its_begin),
        cmocka_unit_test(words_longer_than_a_line_are_cut),
        cmocka_unit_test(colours_take_no_room),
        cmocka_unit_test(what_takes_over_a_second_says_so_and_wipes_it),
        cmocka_unit_test(a_timer_counts_the_seconds),
        cmocka_unit_test(a_count_goes_on_when_its_numbers_change),
        cmocka_unit_test(what_is_quick_says_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
