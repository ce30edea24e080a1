/* What a program's ThreadSanitizer has to know of this library.
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
#ifndef MP_RECORD_CORE_SANITIZER_H
#define MP_RECORD_CORE_SANITIZER_H

#include <stdbool.h>

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
