/* Creates the recorder's threads with all signals blocked. A handler of the application must not
 * run on one of them: the application does not know these threads. Nor must they keep a process
 * alive whose own threads have all ended, so the two are distinguished.
 */
#include "record/core/thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"

#include "base/poison.h"

void thread_block_signals(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

void thread_restore_signals(const sigset_t *before)
{
    const struct timespec at_once = {0};
    sigset_t size;

    if (!sigismember(before, SIGXFSZ)) {
        sigemptyset(&size);
        sigaddset(&size, SIGXFSZ);
        while (sigtimedwait(&size, NULL, &at_once) == SIGXFSZ)
            continue;
    }
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

void signal_set_default(int number)
{
    struct sigaction action = {.sa_handler = SIG_DFL};

    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

bool signal_is_handled_by(int number, void (*handler)(int))
{
    struct sigaction present;

    return sigaction(number, NULL, &present) == 0 && !(present.sa_flags & SA_SIGINFO) &&
           present.sa_handler == handler;
}

bool signal_is_taken_by(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction present;

    return sigaction(number, NULL, &present) == 0 && (present.sa_flags & SA_SIGINFO) &&
           present.sa_sigaction == handler;
}

/* ---- Starting one ---- */

/* Whether a place held `before` and holds `after` now. */
static bool change(struct own_threads *own, pid_t before, pid_t after)
{
    for (size_t i = 0; i < THREADS_OURS; i++) {
        pid_t expected = before;

        if (atomic_compare_exchange_strong(&own->ids[i], &expected, after))
            return true;
    }
    return false;
}

/* What a thread begins with. It is in a room of ROOM_BYTES, which the thread gives back first of
 * all. So there is memory for the thread-local data of libraries, without which glibc ends the
 * process. */
struct start {
    struct own_threads *own;
    void *(*run)(void *argument);
    void *argument;
};

#define ROOM_BYTES ((size_t)256 << 10)

static void *begin(void *room)
{
    struct start start = *(struct start *)room;

    munmap(room, ROOM_BYTES);
    change(start.own, 0, mp_thread_id());
    sanitizer_ignore(true);
    void *result = start.run(start.argument);
    sanitizer_ignore(false);
    change(start.own, mp_thread_id(), 0);
    return result;
}

static int create(pthread_t *thread, const pthread_attr_t *attributes, struct start start)
{
    struct start *room = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (room == MAP_FAILED)
        return ENOMEM;
    *room = start;
    int error = pthread_create(thread, attributes, begin, room);
    if (error)
        munmap(room, ROOM_BYTES);
    return error;
}

enum mp_status thread_start(struct own_threads *own, pthread_t *thread, size_t stack_bytes,
                            void *(*run)(void *argument), void *argument)
{
    pthread_attr_t attributes;
    sigset_t before;

    if (pthread_attr_init(&attributes) != 0)
        return MP_ERR_MEMORY;
    if (stack_bytes)
        pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    thread_block_signals(&before);
    int error = create(thread, &attributes, (struct start){own, run, argument});
    thread_restore_signals(&before);
    pthread_attr_destroy(&attributes);
    return error ? MP_ERR_LIMIT : MP_OK;
}

/* ---- What a thread does ---- */

ssize_t thread_proc_read(uint32_t tid, const char *file, char *text, size_t size)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/%s", tid, file);
    int opened = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (opened < 0)
        return -1;
    ssize_t bytes = syscall(SYS_read, opened, text, size - 1);
    syscall(SYS_close, opened);
    text[bytes > 0 ? bytes : 0] = '\0';
    return bytes;
}

bool thread_waits(pid_t tid)
{
    char text[32]; /* the number of the system call in which it sleeps */

    return thread_proc_read((uint32_t)tid, "syscall", text, sizeof(text)) > 0 &&
           strtol(text, NULL, 10) == SYS_futex;
}

/* ---- Whether others are left ---- */

/* Once main's thread has ended, links such as this one cannot be read (proc(5)). Nor can they be
 * without /proc. */
static bool may_have_ended(void)
{
    char text[1];

    return readlink("/proc/self/cwd", text, sizeof(text)) < 0 && errno == ENOENT;
}

/* Main's thread stays as a zombie until the process ends. */
static bool is_ended_main(pid_t tid)
{
    char text[256];

    if (tid != mp_process_id() || thread_proc_read((uint32_t)tid, "stat", text, sizeof(text)) <= 0)
        return false;
    const char *state = strrchr(text, ')'); /* the thread's name, before it, may hold anything */
    return state && strlen(state) > 2 && (state[2] == 'Z' || state[2] == 'X');
}

static bool is_ours(const struct own_threads *own, pid_t tid)
{
    bool found = false;

    for (size_t i = 0; i < THREADS_OURS; i++)
        found |= atomic_load(&own->ids[i]) == tid;
    return found;
}

/* A thread that has ended since the folder was read may have started another one, which is not in
 * the list. So any thread that is listed counts as alive. */
bool threads_are_alone(const struct own_threads *own)
{
    DIR *threads = may_have_ended() ? opendir("/proc/self/task") : NULL;
    const struct dirent *entry;
    bool alone = threads != NULL;

    while (alone && (entry = readdir(threads))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

        alone = tid <= 0 || is_ours(own, tid) || is_ended_main(tid);
    }
    if (threads)
        closedir(threads);
    return alone;
}
