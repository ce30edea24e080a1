/* Finds the evaluator by its symbol, and its other parts by the records that it keeps on the stack.
 */
#include "record/stacks/evaluator.h"

#include <dlfcn.h>
#include <link.h>

#include "base/poison.h"

/* glibc's backtrace has loaded it. */
void evaluator_open(struct evaluator *evaluator)
{
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return;
    *(void **)&evaluator->stack_of = dlsym(library, "_Unwind_GetCFA");
    *(void **)&evaluator->code_of = dlsym(library, "_Unwind_GetRegionStart");
    *(void **)&evaluator->address_of = dlsym(library, "_Unwind_GetIP");
    if (evaluator->stack_of && evaluator->code_of && evaluator->address_of)
        *(void **)&evaluator->walk = dlsym(library, "_Unwind_Backtrace");
}

void evaluator_find(struct evaluator *evaluator)
{
    void *address = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
    void *found = NULL;
    const Elf64_Sym *symbol;
    Dl_info info;

    if (!address || !dladdr1(address, &info, &found, RTLD_DL_SYMENT) || !found)
        return;
    symbol = found;
    atomic_store(&evaluator->parts[0].bytes, symbol->st_size);
    atomic_store(&evaluator->parts[0].begin, (uintptr_t)address);
}

/* A walk from frame to frame, outwards. */
struct look {
    struct evaluator *evaluator;
    const uintptr_t *records;
    size_t count;
    /* Of the frame before: where its stack begins, its code begins, and it goes on. */
    uintptr_t stack, begin, address;
};

static void add_code(struct evaluator *evaluator, uintptr_t begin, uintptr_t address)
{
    for (unsigned i = 0; begin && i < EVALUATOR_PARTS; i++) {
        uintptr_t known = atomic_load(&evaluator->parts[i].begin);

        if (known && known != begin)
            continue;
        if (atomic_load(&evaluator->parts[i].bytes) < address - begin + 1)
            atomic_store(&evaluator->parts[i].bytes, address - begin + 1);
        atomic_store(&evaluator->parts[i].begin, begin);
        return;
    }
}

/* The stack of a frame ends where that of the next one begins. */
static _Unwind_Reason_Code look_at(struct _Unwind_Context *context, void *argument)
{
    struct look *look = argument;
    uintptr_t stack = look->evaluator->stack_of(context);

    for (size_t i = 0; look->stack && i < look->count; i++)
        if (look->records[i] - look->stack < stack - look->stack)
            add_code(look->evaluator, look->begin, look->address);
    look->stack = stack;
    look->begin = look->evaluator->code_of(context);
    look->address = look->evaluator->address_of(context);
    return _URC_NO_REASON;
}

void evaluator_learn(struct evaluator *evaluator, const uintptr_t *records, size_t count)
{
    struct look look = {.evaluator = evaluator, .records = records, .count = count};

    if (!evaluator->walk || !count || atomic_load(&evaluator->looks) >= EVALUATOR_LOOKS ||
        atomic_exchange(&evaluator->looking, true))
        return;
    atomic_fetch_add(&evaluator->looks, 1);
    evaluator->walk(look_at, &look);
    atomic_store(&evaluator->looking, false);
}
