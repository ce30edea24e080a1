/* Names as nvprof prints them: demangled or not, without suffixes of CUDA's functions. libstdc++'s
 * demangler is called with a bound on the length, since its time can grow fast with the name.
 */
#include "profile/names/names.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <miniprof/trace.h>

#include "trace/codec/schema.h"

#include "base/poison.h"

/* The demangler's time and recursion grow with the name; real kernels stay far below (CUTLASS
 * reaches some 4 KiB). */
#define LONGEST_MANGLED 65536

/* In libstdc++ (Itanium C++ ABI, section 3.4); its header is C++ only. */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *size, int *status);

const char *names_demangle(const char *name, enum names_style style, struct mp_arena *arena)
{
    const char *result = name;
    int status = -1;
    char *text;

    if (style == NAMES_MANGLED || strncmp(name, "_Z", 2) != 0 ||
        strnlen(name, LONGEST_MANGLED) == LONGEST_MANGLED)
        return name;
    text = __cxa_demangle(name, NULL, NULL, &status);
    if (text && status == 0) {
        const char *copy = style == NAMES_NVPROF ? names_nvprof(text, arena)
                                                 : mp_arena_copy(arena, text, strlen(text));
        result = copy ? copy : name;
    }
    free(text);
    return result;
}

/* Whether the name ends in an underscore, the given letters and, with `digits`, at least one digit.
 * If so, takes this suffix off *length. */
static bool strip(const char *name, size_t *length, const char *suffix, bool digits)
{
    size_t suffix_length = strlen(suffix);
    size_t end = *length;

    while (digits && end && isdigit((unsigned char)name[end - 1]))
        end--;
    if ((digits && end == *length) || end <= suffix_length)
        return false;
    if (memcmp(name + end - suffix_length, suffix, suffix_length) != 0)
        return false;
    *length = end - suffix_length;
    return true;
}

size_t names_api_length(const char *name)
{
    size_t length = strlen(name);

    if (strncmp(name, "cu", 2) != 0)
        return length;
    while (strip(name, &length, "_v", true) || strip(name, &length, "_ptsz", false) ||
           strip(name, &length, "_ptds", false))
        ;
    return length;
}

const char *names_copy(uint64_t kind, char *buffer, size_t size)
{
    const char *name = mp_enum_name("copy_kind", kind);

    if (name)
        snprintf(buffer, size, "[CUDA memcpy %s]", name);
    else
        snprintf(buffer, size, "[CUDA memcpy %" PRIu64 "]", kind);
    return buffer;
}

const char *names_memory(uint64_t kind)
{
    static const char *const names[] = {
        [MP_memory_kind_unknown] = "Unknown",
        [MP_memory_kind_pageable] = "Pageable",
        [MP_memory_kind_pinned] = "Pinned",
        [MP_memory_kind_device] = "Device",
        [MP_memory_kind_array] = "Array",
        [MP_memory_kind_managed] = "Managed",
        [MP_memory_kind_device_static] = "Device Static",
        [MP_memory_kind_managed_static] = "Managed Static",
    };

    return names[kind < sizeof names / sizeof *names ? kind : MP_memory_kind_unknown];
}

const char *names_wait(uint64_t kind)
{
    static const char *const functions[] = {
        [MP_wait_kind_condition] = "pthread_cond_wait",
        [MP_wait_kind_mutex] = "pthread_mutex_lock",
        [MP_wait_kind_join] = "pthread_join",
        [MP_wait_kind_barrier] = "pthread_barrier_wait",
        [MP_wait_kind_semaphore] = "sem_wait",
        [MP_wait_kind_poll] = "poll",
        [MP_wait_kind_epoll] = "epoll_wait",
        [MP_wait_kind_select] = "select",
        [MP_wait_kind_read] = "read",
        [MP_wait_kind_futex] = "futex",
        [MP_wait_kind_sleep] = "nanosleep",
        [MP_wait_kind_rwlock] = "pthread_rwlock_lock",
    };

    if (kind < sizeof functions / sizeof *functions && functions[kind])
        return functions[kind];
    return "[unnamed wait]";
}

const char *names_graph(uint64_t graph, char *buffer, size_t size)
{
    snprintf(buffer, size, "[CUDA graph %" PRIu64 "]", graph);
    return buffer;
}
