/* Waiting for a file, for calls of CUPTI, and for what the recorder answers and says. */
#include "awaits.h"

#include "base/process.h"
#include "common.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first flush that begins later finds all records. A flush may go before the write of the file,
 * and the writer does not wait for one that takes long, so that the records may come a round later.
 * The recorder's first look for other clients flushes too. */
enum { FLUSHES = 5, LIMIT_MS = 120000, SAID_BYTES = 1 << 16 };

struct counted {
    const _Atomic uint64_t *count;
    uint64_t until;
};

static void await(bool (*happens)(const void *what), const void *what, const char *name)
{
    for (int ms = 0; !happens(what); ms++) {
        if (ms == LIMIT_MS)
            fail("awaited in vain: %s", name);
        usleep(1000);
    }
}

static bool is_recorded(void)
{
    return getenv("CUDA_INJECTION64_PATH") != NULL;
}

static void await_recorder(bool (*happens)(const void *what), const void *what, const char *name)
{
    if (is_recorded())
        await(happens, what, name);
}

static bool is_there(const void *path)
{
    return access(path, F_OK) == 0;
}

void await_file(const char *path)
{
    await(is_there, path, path);
}

/* ---- Calls of CUPTI ---- */

static const _Atomic uint64_t *find(const char *name)
{
    const _Atomic uint64_t *count = dlsym(RTLD_DEFAULT, name);

    if (!count)
        fail("no %s: not the software GPU", name);
    return count;
}

static bool is_reached(const void *what)
{
    const struct counted *counted = what;

    return *counted->count >= counted->until;
}

/* Once the recorder has looked for other clients, which takes a flush more than the first. */
static bool is_returned(const void *out)
{
    return *find("simgpu_flushes_ended") > 1 && *(const _Atomic uint64_t *)out == 0;
}

static bool is_even(const void *count)
{
    return *(const _Atomic uint64_t *)count % 2 == 0;
}

/* `more` than `from` has now. */
static void await_more(const char *name, const char *from, uint64_t more)
{
    struct counted counted = {find(name), *find(from) + more};

    await_recorder(is_reached, &counted, name);
}

/* CUPTI asks the recorder for buffers, not another client. */
static bool has_buffers(const void *client)
{
    const void *function = *(void *const _Atomic *)client;
    Dl_info library;

    return function && dladdr(function, &library) != 0 &&
           strstr(library.dli_fname, "libminiprof") != NULL;
}

void await_written(const char *unused)
{
    (void)unused;
    await_recorder(has_buffers, find("simgpu_buffer_client"), "the recorder's buffers");
    await_more("simgpu_flushes_ended", "simgpu_flushes_begun", FLUSHES);
}

void await_flush(const char *unused)
{
    (void)unused;
    await_more("simgpu_flushes_begun", "simgpu_flushes_begun", 1);
}

void await_returned(const char *unused)
{
    (void)unused;
    await_recorder(is_returned, find("simgpu_buffers_out"), "the last buffer");
}

void await_look(const char *unused)
{
    (void)unused;
    await_more("simgpu_attributes", "simgpu_attributes", 1);
}

void await_switches(const char *count)
{
    struct counted switches = {find("simgpu_switches"), strtoull(count, NULL, 10)};

    await_recorder(is_reached, &switches, "switches of records");
}

void await_off(const char *unused)
{
    (void)unused;
    await_recorder(is_even, find("simgpu_switches"), "no records of kernels");
}

static bool is_not_zero(const void *count)
{
    return *(const _Atomic uint64_t *)count != 0;
}

void await_profiled(const char *unused)
{
    (void)unused;
    await_recorder(is_not_zero, find("simgpu_profiled"), "a launch that is profiled");
}

/* A reading that began before may be counted later, and one is taken when the next begins. */
void await_reading(const char *unused)
{
    (void)unused;
    await_more("simgpu_readings", "simgpu_readings", 3);
}

/* ---- What the recorder answers and says ---- */

/* The writer answers between rounds. */
static bool ask(char *answer, size_t bytes)
{
    int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address;
    socklen_t length = mp_ctl_address(&address, getpid());
    ssize_t got = 0;

    if (file >= 0 && connect(file, (const struct sockaddr *)&address, length) == 0 &&
        send(file, "status", 6, MSG_NOSIGNAL) == 6)
        got = recv(file, answer, bytes - 1, 0);
    if (file >= 0)
        close(file);
    answer[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static bool is_state(const void *text)
{
    char answer[MP_CTL_ANSWER_BYTES];

    return ask(answer, sizeof(answer)) && strncmp(answer, MP_CTL_OK, strlen(MP_CTL_OK)) == 0 &&
           strncmp(answer + strlen(MP_CTL_OK), text, strlen(text)) == 0;
}

void await_state(const char *text)
{
    await_recorder(is_state, text, text);
}

/* The second question may be answered in the same round as the first. */
void await_round(const char *unused)
{
    (void)unused;
    for (int i = 0; i < 3; i++)
        await_state("");
}

static bool has_said(const void *text)
{
    char said[SAID_BYTES];
    int file = open("/proc/self/fd/2", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = read(file, said, sizeof(said) - 1);

    close(file);
    said[bytes > 0 ? bytes : 0] = '\0';
    return strstr(said, text) != NULL;
}

void await_said(const char *text)
{
    await_recorder(has_said, text, text);
}
