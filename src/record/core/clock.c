/* The clock is chosen at the first call and never changes; two threads that race here choose the
 * same one. The choice is a pointer outside of struct recorder, because NVTX events may come before
 * CUDA is loaded, and so before the recorder exists.
 */
#include "record/core/clock.h"

#include <dlfcn.h>
#include <stdatomic.h>

#include "base/poison.h"

typedef uint64_t (*clock_source)(void);

static uint64_t clock_choose(void);

static _Atomic(clock_source) source = clock_choose;

uint64_t mp_system_clock_ns(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t mp_monotonic_ns(void)
{
    return mp_system_clock_ns(CLOCK_MONOTONIC);
}

int64_t mp_monotonic_ms(void)
{
    return (int64_t)(mp_monotonic_ns() / 1000000);
}

struct timespec mp_monotonic_in(uint64_t ns)
{
    uint64_t then = mp_monotonic_ns() + ns;

    return (struct timespec){.tv_sec = (time_t)(then / 1000000000u),
                             .tv_nsec = (long)(then % 1000000000u)};
}

bool mp_monotonic_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return made;
}

/* The software GPU's clock, also where a plug-in has loaded the software GPU for itself; NULL with
 * a real driver. */
static void *find_virtual(void)
{
    void *found = dlsym(RTLD_DEFAULT, "simgpu_clock_ns");
    void *driver = found ? NULL : dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);

    if (!driver)
        return found;
    found = dlsym(driver, "simgpu_clock_ns");
    dlclose(driver);
    return found;
}

static uint64_t clock_choose(void)
{
    clock_source chosen = mp_monotonic_ns;
    /* POSIX's way of turning dlsym's object pointer into a function pointer. */
    *(void **)&chosen = find_virtual();
    if (!chosen)
        chosen = mp_monotonic_ns;
    atomic_store_explicit(&source, chosen, memory_order_relaxed);
    return chosen();
}

uint64_t mp_clock_now(void)
{
    return atomic_load_explicit(&source, memory_order_relaxed)();
}

bool mp_clock_is_virtual(void)
{
    (void)mp_clock_now();
    return atomic_load_explicit(&source, memory_order_relaxed) != mp_monotonic_ns;
}

#define SAME_CLOCK_NS (UINT64_C(60) * 1000000000u)

/* With SIMGPU_REAL_TIME it is the time of day. */
bool mp_clock_is_played(uint64_t reading)
{
    if (!mp_clock_is_virtual())
        return false;
    uint64_t day = mp_system_clock_ns(CLOCK_REALTIME);
    return reading > day || day - reading > SAME_CLOCK_NS;
}

const char *mp_clock_name(void)
{
    return mp_clock_is_virtual() ? "simgpu" : "monotonic";
}
