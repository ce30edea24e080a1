/* Numbers frames by their texts, since one function may have several ids in a trace. */
#include "profile/stacks/alike.h"

#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

/* Texts by their numbers. */
struct alike_key {
    uint32_t kind, file, name, line;
};

static enum mp_status number_text(struct alike *alike, const char *text, uint32_t *number)
{
    *number = text ? mp_intern_add(&alike->texts, text, strlen(text)) : 0;
    return text && !*number ? MP_ERR_MEMORY : MP_OK;
}

enum mp_status alike_number(struct alike *alike, uint32_t kind, const struct stack_code *code,
                            uint32_t line, uint32_t *number)
{
    struct alike_key key = {.kind = kind, .line = line};

    MP_TRY(number_text(alike, code->file, &key.file));
    MP_TRY(number_text(alike, code->name, &key.name));
    *number = mp_intern_add(&alike->keys, &key, sizeof key);
    return *number ? MP_OK : MP_ERR_MEMORY;
}

void alike_free(struct alike *alike)
{
    mp_intern_free(&alike->texts);
    mp_intern_free(&alike->keys);
}

static enum mp_status find_first(const struct call_stacks *stacks, struct alike *alike,
                                 uint32_t *first, uint32_t *of_number)
{
    for (uint32_t i = 1; i < stacks->frames.count; i++) {
        const struct stack_frame *frame = dense_at(&stacks->frames, i);
        uint32_t number;

        MP_TRY(alike_number(alike, frame->kind, call_stacks_code(stacks, frame), frame->line,
                            &number));
        if (!of_number[number])
            of_number[number] = i;
        first[i] = of_number[number];
    }
    return MP_OK;
}

uint32_t *alike_lines(const struct call_stacks *stacks)
{
    uint32_t *first = calloc(stacks->frames.count + 1, sizeof *first);
    uint32_t *of_number = calloc(stacks->frames.count + 1, sizeof *of_number);
    struct alike alike = {.texts = {.count = 0}};

    if (!first || !of_number || find_first(stacks, &alike, first, of_number)) {
        free(first);
        first = NULL;
    }
    alike_free(&alike);
    free(of_number);
    return first;
}
