/* Stacks of calls: a row for each frame of each stack, the innermost with depth 0. */
#include "export/nsys/build.h"

#include "base/poison.h"

static enum mp_status put_frame(struct nsys *nsys, uint32_t id, uint32_t depth, uint32_t stack)
{
    const struct call_stacks *stacks = &nsys->stacks;
    const struct stack_frame *frame = call_stacks_frame(stacks, stack);
    const char *file = call_stacks_code(stacks, frame)->file;
    struct tables_cell cells[NSYS_CALLCHAINS_COLUMNS] = {{.kind = 0}};
    uint32_t symbol, module;

    mp_buffer_clear(&nsys->text);
    call_stacks_put_frame(&nsys->text, stacks, frame, false);
    MP_TRY(nsys->text.status);
    MP_TRY(nsys_string(nsys, (const char *)nsys->text.data, nsys->text.size, &symbol));
    MP_TRY(nsys_string(nsys, file ? file : "", file ? strlen(file) : 0, &module));
    cells[NSYS_CALLCHAINS_id] = TABLES_NUMBER(id);
    cells[NSYS_CALLCHAINS_symbol] = TABLES_NUMBER(symbol);
    cells[NSYS_CALLCHAINS_module] = TABLES_NUMBER(module);
    cells[NSYS_CALLCHAINS_stackDepth] = TABLES_NUMBER(depth);
    return tables_put(nsys->tables, NSYS_CALLCHAINS, cells);
}

enum mp_status nsys_callchain(struct nsys *nsys, uint64_t correlation, struct tables_cell *cell)
{
    uint32_t stack = call_stacks_of_call(&nsys->stacks, correlation);
    uint32_t id = stack ? mp_map_get(&nsys->callchains, stack) : 0;

    if (id == MP_MAP_ABSENT) {
        id = ++nsys->callchain;
        MP_TRY(mp_map_put(&nsys->callchains, stack, id));
        for (uint32_t depth = 0; stack && depth < CALL_STACKS_DEPTH;
             stack = call_stacks_caller(&nsys->stacks, stack))
            MP_TRY(put_frame(nsys, id, depth++, stack));
    }
    *cell = nsys_some(id);
    return MP_OK;
}

enum mp_status nsys_begin_callchains(struct nsys *nsys, struct mp_error *error)
{
    nsys_end_callchains(nsys);
    nsys->stacks_loaded = true;
    return call_stacks_load(&nsys->stacks, nsys->process->trace, error);
}

void nsys_end_callchains(struct nsys *nsys)
{
    if (nsys->stacks_loaded)
        call_stacks_free(&nsys->stacks);
    nsys->stacks_loaded = false;
    mp_map_clear(&nsys->callchains);
}
