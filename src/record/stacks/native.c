/* Walks native frames by libunwind or glibc, and weaves Python's frames into them. */
#include "record/stacks/native.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <string.h>

#include "base/log.h"

#include "base/poison.h"

/* HP's libunwind; LLVM's has another name and no such function. It is never closed. */
void native_open(struct native *native)
{
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    void *addresses[4];

    if (library)
        *(void **)&native->walk = dlsym(library, "unw_backtrace");
    native->caches = native->walk != NULL;
    if (!native->walk) {
        native->walk = backtrace;
        mp_log_info("MINIPROF_STACKS: glibc unwinds native stacks; libunwind.so.8 (the package "
                    "libunwind8) would take a fifth of its time");
    }
    /* The first walk of glibc loads a library, so it may not come in a call. */
    if (backtrace(addresses, 4) > 0 && native->walk(addresses, 4) > 0)
        return;
    native->walk = NULL;
    mp_log_warn("MINIPROF_STACKS: the stack cannot be unwound here: no native stacks");
}

/* libunwind keeps how to unwind at an address, and unw_flush_cache leaves that as it is (1.6.2).
 * If another module is at the address, the walk reads what is no frame. So the first unload after
 * its first walk ends its use; glibc, which asks the linker each time, goes on. */
static bool is_stale(struct native *native, uint64_t unloads)
{
    uint64_t first = 0;

    if (!native->caches ||
        atomic_compare_exchange_strong(&native->first_unloads, &first, unloads + 1) ||
        first == unloads + 1)
        return false;
    if (!atomic_exchange(&native->stale_said, true))
        mp_log_info("MINIPROF_STACKS: the program unloads modules: glibc unwinds native stacks "
                    "from now on, which takes five times as long");
    return true;
}

uint32_t native_walk(struct native *native, uint64_t unloads, uint64_t places[NATIVE_DEPTH + 1])
{
    void *addresses[NATIVE_DEPTH + 1];
    int count = is_stale(native, unloads) ? backtrace(addresses, NATIVE_DEPTH + 1)
                                          : native->walk(addresses, NATIVE_DEPTH + 1);

    for (int i = 0; i < count; i++)
        places[i] = PLACE_NATIVE | (uintptr_t)addresses[i];
    if (count > (int)NATIVE_DEPTH)
        places[NATIVE_DEPTH] = (uint64_t)CODE_CUT << 32;
    return count > 0 ? (uint32_t)count : 0;
}

static bool is_evaluator(const struct native_stacks *stacks, uint32_t index)
{
    return stacks->evaluators[index / 64] >> index % 64 & 1;
}

static uint32_t mark_evaluators(const struct evaluator *evaluator, struct native_stacks *stacks)
{
    uint32_t frames = stacks->native_count < NATIVE_DEPTH ? stacks->native_count : NATIVE_DEPTH;
    uint32_t count = 0;

    memset(stacks->evaluators, 0, sizeof(stacks->evaluators));
    for (uint32_t i = 0; i < frames; i++)
        if (evaluator_has(evaluator, PLACE_ADDRESS(stacks->native[i]))) {
            stacks->evaluators[i / 64] |= UINT64_C(1) << i % 64;
            count++;
        }
    return count;
}

void native_find_evaluators(struct evaluator *evaluator, const struct walk *walk,
                            struct native_stacks *stacks)
{
    uint32_t begun = 0;

    for (uint32_t i = 0; i < stacks->python_count; i++)
        begun += stacks->python[i] & PLACE_ENTRY;
    stacks->evaluator_count = mark_evaluators(evaluator, stacks);
    if (__builtin_expect(stacks->evaluator_count >= begun || stacks->native_count > NATIVE_DEPTH,
                         1))
        return;
    evaluator_learn(evaluator, walk->records, walk->record_count);
    stacks->evaluator_count = mark_evaluators(evaluator, stacks);
}

/* A stack in the making. */
struct splice {
    uint64_t *to;
    uint32_t count, room;
    const struct native_stacks *of;
    uint32_t next; /* Python's frames that are put */
};

static void put(struct splice *splice, uint64_t place)
{
    if (splice->count < splice->room)
        splice->to[splice->count++] = place;
}

/* Python's frames up to the one with which an evaluator began; all of them if there is no more
 * evaluator. */
static void put_evaluated(struct splice *splice, bool last)
{
    while (splice->next < splice->of->python_count) {
        uint64_t place = splice->of->python[splice->next++];

        put(splice, place);
        if ((place & PLACE_ENTRY) && !last)
            return;
    }
}

uint32_t native_splice(const struct native_stacks *stacks, uint64_t *to, uint32_t room)
{
    struct splice splice = {.to = to, .room = room, .of = stacks};
    uint32_t evaluators = stacks->evaluator_count;

    if (stacks->python_count && !evaluators) {
        put_evaluated(&splice, true);
        return splice.count;
    }
    for (uint32_t i = 0; i < stacks->native_count; i++)
        if (is_evaluator(stacks, i))
            put_evaluated(&splice, --evaluators == 0);
        else
            put(&splice, stacks->native[i]);
    return splice.count;
}
