/* Threads of ours, how to tell them from the program's, what the kernel tells of these, and what a
 * program's ThreadSanitizer has to know. */
#ifndef MP_RECORD_CORE_THREAD_H
#define MP_RECORD_CORE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

/* The ids of our threads; 0: a free place. Each thread enters itself and leaves again. Any thread
 * reads. A thread that finds no place counts as one of the program's. */
#define THREADS_OURS 8

struct own_threads {
    _Atomic pid_t ids[THREADS_OURS];
};

/* Starts a detached thread, which enters itself in `own`. All signals are blocked in it, so the
 * application's signals go to the application's threads. `stack_bytes`: 0 for the process's
 * default. MP_ERR_MEMORY or MP_ERR_LIMIT when no thread can be made. Any thread. */
enum mp_status thread_start(struct own_threads *own, pthread_t *thread, size_t stack_bytes,
                            void *(*run)(void *argument), void *argument);

/* Whether the thread of that id waits for a lock or another thread: /proc tells. Any
 * thread. */
bool thread_waits(pid_t tid);

/* Whether main's thread has ended and no other thread of the process is left but those in `own`:
 * then glibc would have ended the process, if it did not count ours. False without /proc. Opens no
 * file while main's thread is there. Any thread. */
bool threads_are_alone(const struct own_threads *own);

/* Blocks all signals in this thread: before it creates a thread, and before a write that may exceed
 * RLIMIT_FSIZE. thread_restore_signals also discards a SIGXFSZ that such a write raised: the signal
 * would kill the application for a file that is not its own. */
void thread_block_signals(sigset_t *before);
void thread_restore_signals(const sigset_t *before);

/* Gives the signal its default action, and asks whether it has this handler, SIG_DFL for one, or
 * this one with SA_SIGINFO. Async-signal-safe. */
void signal_set_default(int number);
bool signal_is_handled_by(int number, void (*handler)(int));
bool signal_is_taken_by(int number, void (*handler)(int, siginfo_t *, void *));

/* Reads /proc/self/task/TID/`file` of a thread of this process into `text`, which ends with a zero,
 * and returns its length; -1 with errno, as ENOENT for a thread that has ended. By system calls:
 * the preloaded library looks at read. Any thread, also in a signal handler. */
ssize_t thread_proc_read(uint32_t tid, const char *file, char *text, size_t size);

/* ---- The program's ThreadSanitizer ----
 *
 * The sanitizer intercepts our calls of memcpy, strlen and free. It does not see our atomics,
 * because it did not compile them. So memory that one thread hands to another by an atomic looks
 * like a race, and the program would fail.
 *
 * We tell it to ignore our own threads. For memory that passes between the program's threads we
 * mark the hand-over: give, then take.
 *
 * The functions are the sanitizer's, as weak symbols: in a program without it they are NULL. A
 * build of ours with the sanitizer needs none of this.
 */

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZER_IS_OURS 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) && !defined(SANITIZER_IS_OURS)
#define SANITIZER_IS_OURS 1
#endif

#ifdef SANITIZER_IS_OURS

static inline void sanitizer_ignore(bool on)
{
    (void)on;
}

static inline void sanitizer_give(const void *memory)
{
    (void)memory;
}

static inline void sanitizer_take(const void *memory)
{
    (void)memory;
}

#else

#define SANITIZER_WEAK extern __attribute__((weak))

SANITIZER_WEAK void AnnotateIgnoreReadsBegin(const char *file, int line);
SANITIZER_WEAK void AnnotateIgnoreReadsEnd(const char *file, int line);
SANITIZER_WEAK void AnnotateIgnoreWritesBegin(const char *file, int line);
SANITIZER_WEAK void AnnotateIgnoreWritesEnd(const char *file, int line);
SANITIZER_WEAK void __tsan_acquire(const void *memory);
SANITIZER_WEAK void __tsan_release(const void *memory);

/* From here on what the calling thread reads and writes is ignored, or no longer. A thread that
 * ends while it is ignored is an error. */
static inline void sanitizer_ignore(bool on)
{
    void (*reads)(const char *, int) = on ? AnnotateIgnoreReadsBegin : AnnotateIgnoreReadsEnd;
    void (*writes)(const char *, int) = on ? AnnotateIgnoreWritesBegin : AnnotateIgnoreWritesEnd;

    if (reads && writes) {
        reads(__FILE__, __LINE__);
        writes(__FILE__, __LINE__);
    }
}

/* The calling thread leaves the memory to others, which see what it has written there. */
static inline void sanitizer_give(const void *memory)
{
    if (__tsan_release)
        __tsan_release(memory);
}

/* The calling thread gets the memory that another one has given. */
static inline void sanitizer_take(const void *memory)
{
    if (__tsan_acquire)
        __tsan_acquire(memory);
}

#endif

#endif
