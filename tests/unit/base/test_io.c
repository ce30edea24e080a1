/* io.h: in a folder of its own under TMPDIR. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"

static char folder[256];

static int make_folder(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof(folder), "%s/miniprof-io-XXXXXX", base ? base : "/tmp");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink("file");
    unlink("link");
    unlink("fifo");
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static int create(void)
{
    int fd = -1;

    unlink("file");
    assert_int_equal(mp_create_exclusive("file", &fd, NULL), MP_OK);
    return fd;
}

static void a_new_file_is_private_and_closed_on_exec(void **state)
{
    mode_t mask = umask(0);
    int fd = create();
    struct stat about;

    (void)state;
    umask(mask);
    assert_int_equal(fstat(fd, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}

static void an_existing_file_or_link_is_never_opened(void **state)
{
    struct mp_error error;
    int fd = create();
    int other = -1;

    (void)state;
    close(fd);
    assert_int_equal(mp_create_exclusive("file", &other, &error), MP_ERR_IO);
    assert_string_equal(error.text, "cannot create 'file': File exists");
    unlink("link");
    assert_int_equal(symlink("elsewhere", "link"), 0);
    assert_int_equal(mp_create_exclusive("link", &other, &error), MP_ERR_IO);
    assert_int_equal(access("elsewhere", F_OK), -1);
    assert_int_equal(mp_create_exclusive("no/file", &other, &error), MP_ERR_IO);
    assert_string_equal(error.text, "cannot create 'no/file': No such file or directory");
    assert_int_equal(other, -1);
}

static void folders_are_made_as_far_as_they_are_missing(void **state)
{
    mode_t mask = umask(0777);
    struct mp_error error;
    struct stat about;
    int fd = create();

    (void)state;
    close(fd);
    assert_int_equal(mp_make_folders("name", &error), MP_OK);
    assert_int_equal(mp_make_folders("/name", &error), MP_OK);
    assert_int_equal(mp_make_folders("one//two/three/name", &error), MP_OK);
    umask(mask);
    assert_int_equal(stat("one/two/three", &about), 0);
    assert_int_equal(about.st_mode, S_IFDIR | 0700);
    assert_int_equal(access("one/two/three/name", F_OK), -1);
    assert_int_equal(mp_make_folders("one/two/name", &error), MP_OK);
    assert_int_equal(mp_make_folders("file/name", &error), MP_ERR_IO);
    assert_string_equal(error.text, "cannot create the folder 'file': Not a directory");
    assert_int_equal(mp_make_folders("/proc/none/name", &error), MP_ERR_IO);
    assert_int_equal(rmdir("one/two/three") | rmdir("one/two") | rmdir("one"), 0);
}

static void what_was_written_is_read_back(void **state)
{
    struct mp_error error;
    char text[16] = "";
    int fd = create();

    (void)state;
    assert_int_equal(mp_write_all(fd, "0123456789", 10, &error), MP_OK);
    assert_int_equal(mp_pread_exact(fd, text, 4, 3, &error), MP_OK);
    assert_string_equal(text, "3456");
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(mp_read_exact(fd, text, 6, &error), MP_OK);
    assert_int_equal(mp_read_exact(fd, text, 6, &error), MP_ERR_DAMAGED);
    assert_string_equal(error.text, "the file ends after 4 of 6 bytes");
    assert_int_equal(mp_read_exact(fd, text, 6, &error), MP_END);
    assert_int_equal(mp_pread_exact(fd, text, 1, UINT64_MAX, &error), MP_ERR_ARGUMENT);
    close(fd);
}

/* Two pieces of data in a file of a gibibyte. On a file system that knows of no holes all of it
 * counts; a block is at most a mebibyte. */
static void holes_are_no_data(void **state)
{
    enum { GIBI = 1 << 30, MEBI = 1 << 20 };
    int fd = create();
    uint64_t data;

    (void)state;
    assert_int_equal(mp_data_bytes(fd, 0), 0);
    assert_int_equal(pwrite(fd, "begin", 5, 0), 5);
    assert_int_equal(mp_data_bytes(fd, 5), 5);
    assert_int_equal(pwrite(fd, "middle", 6, GIBI / 2), 6);
    assert_int_equal(ftruncate(fd, GIBI), 0);
    data = mp_data_bytes(fd, GIBI);
    if (data != GIBI)
        assert_in_range(data, 11, 2 * MEBI);
    assert_int_equal(mp_data_bytes(fd, 3), 3);
    assert_in_range(mp_data_bytes(fd, GIBI / 2 + 6), 11, data);
    close(fd);
    assert_int_equal(mp_data_bytes(-1, 100), 100);
}

/* A full disk, as far as write(2) goes. */
static void a_write_past_the_limit_fails_with_the_systems_reason(void **state)
{
    struct rlimit before, tight;
    struct mp_error error;
    char block[1000] = {0};
    int fd = create();

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = before;
    tight.rlim_cur = 1500;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    assert_int_equal(mp_write_all(fd, block, sizeof(block), &error), MP_OK);
    assert_int_equal(mp_write_all(fd, block, sizeof(block), &error), MP_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_string_equal(error.text, "cannot write: File too large");
    close(fd);
}

static void on_alarm(int number)
{
    (void)number;
}

/* A pipe that is full for a moment, and a signal without SA_RESTART meanwhile. */
static void interrupted_and_short_writes_are_taken_up_again(void **state)
{
    static char sent[300000], got[300000];
    struct sigaction action = {.sa_handler = on_alarm};
    int ends[2];
    pid_t child;

    (void)state;
    memset(sent, 'x', sizeof(sent));
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        sigaction(SIGALRM, &action, NULL);
        ualarm(20000, 20000);
        _exit(mp_write_all(ends[1], sent, sizeof(sent), NULL) == MP_OK ? 0 : 1);
    }
    assert_true(child > 0);
    close(ends[1]);
    usleep(100000);
    assert_int_equal(mp_read_exact(ends[0], got, sizeof(got), NULL), MP_OK);
    assert_memory_equal(got, sent, sizeof(sent));
    assert_int_equal(mp_read_exact(ends[0], got, 1, NULL), MP_END);
    close(ends[0]);
}

static void only_regular_files_are_opened(void **state)
{
    struct mp_error error;
    uint64_t bytes = 0;
    int fd = create();
    int opened = -1;

    (void)state;
    assert_int_equal(mp_write_all(fd, "abc", 3, NULL), MP_OK);
    close(fd);
    assert_int_equal(mp_open_file("file", &opened, &bytes, &error), MP_OK);
    assert_int_equal(bytes, 3);
    close(opened);
    assert_int_equal(mp_open_file(".", &opened, &bytes, &error), MP_ERR_IO);
    assert_string_equal(error.text, "cannot read '.': it is a directory");
    assert_int_equal(mp_open_file("none", &opened, &bytes, &error), MP_ERR_IO);
    assert_string_equal(error.text, "cannot open 'none': No such file or directory");
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(mp_open_file("fifo", &opened, &bytes, &error), MP_ERR_IO);
    assert_string_equal(error.text, "cannot read 'fifo': not a regular file");
}

static void a_new_file_leaves_the_standard_numbers_alone(void **state)
{
    int kept = dup(STDIN_FILENO);
    int fd;

    (void)state;
    assert_true(kept > STDERR_FILENO);
    close(STDIN_FILENO);
    assert_int_equal(mp_create_exclusive("standard", &fd, NULL), MP_OK);
    assert_true(fd > STDERR_FILENO);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
    assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
    close(kept);
    assert_int_equal(unlink("standard"), 0);
}

static void a_new_file_can_be_read_under_any_umask(void **state)
{
    struct stat about;
    mode_t before = umask(0777);
    int fd;

    (void)state;
    assert_int_equal(mp_create_exclusive("masked", &fd, NULL), MP_OK);
    umask(before);
    assert_int_equal(fstat(fd, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    close(fd);
    assert_int_equal(unlink("masked"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_file_is_private_and_closed_on_exec),
        cmocka_unit_test(an_existing_file_or_link_is_never_opened),
        cmocka_unit_test(folders_are_made_as_far_as_they_are_missing),
        cmocka_unit_test(what_was_written_is_read_back),
        cmocka_unit_test(holes_are_no_data),
        cmocka_unit_test(a_write_past_the_limit_fails_with_the_systems_reason),
        cmocka_unit_test(interrupted_and_short_writes_are_taken_up_again),
        cmocka_unit_test(only_regular_files_are_opened),
        cmocka_unit_test(a_new_file_leaves_the_standard_numbers_alone),
        cmocka_unit_test(a_new_file_can_be_read_under_any_umask),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
