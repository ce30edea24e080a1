/* Frames of two kinds: objects that know their callers (before 3.11), and records of the evaluator,
 * some of which are no function's.
 */
#include "record/stacks/python_walk.h"

#include "base/poison.h"

#define OWNER_GENERATOR 1
#define OWNER_OTHER     3 /* and more: the frame is no function's */
#define TAGS            ((uintptr_t)3)
#define PASSED          16u /* frames for each that is kept: with those that are no function's */

/* A walk under way. */
struct walker {
    struct walk *walk;
    const struct python *python;
    struct stack_store *store;
    uint32_t count;
    uint64_t copy[LAYOUT_STATE_BYTES / sizeof(uint64_t)]; /* of memory_view */
};
_Static_assert(LAYOUT_FRAME_BYTES <= LAYOUT_STATE_BYTES, "a frame fits in the copy");

static void keep_record(struct walk *walk, uintptr_t record)
{
    if (walk->record_count < WALK_RECORDS)
        walk->records[walk->record_count++] = record;
}

/* The innermost frame; 0: none. Up to 3.12 a record of the innermost evaluator leads to it. */
static uintptr_t first_frame(struct walker *walker, uintptr_t thread_state)
{
    const struct python_layout *layout = &walker->python->layout;
    struct known_pages *pages = &walker->walk->pages;
    uintptr_t state = memory_view(pages, thread_state, LAYOUT_STATE_BYTES, walker->copy);
    uintptr_t at;

    if (!state)
        return 0;
    at = load_word(state + layout->state_frame);
    if (layout->inner_frame == LAYOUT_NONE || !at)
        return at;
    keep_record(walker->walk, at);
    at = memory_view(pages, at, 2 * sizeof(at), walker->copy);
    return at ? load_word(at + layout->inner_frame) : 0;
}

/* The byte offset of the frame's instruction in its function. */
static uint32_t offset_of(const struct python_layout *layout, uintptr_t frame, uintptr_t code)
{
    int64_t offset;

    if (layout->objects)
        offset = (int64_t)(int32_t)load_number(frame + layout->instruction) * layout->scale;
    else
        offset = (int64_t)(load_word(frame + layout->instruction) - (code + layout->bytes));
    return offset < 0 || offset > INT32_MAX ? 0 : (uint32_t)offset & ~UINT32_C(1);
}

/* Whether the frame has begun: one that is being made is not on the stack yet. */
static bool has_begun(const struct python_layout *layout, const struct known_code *code,
                      uintptr_t frame, uint32_t offset)
{
    return offset >= code->traceable || load_byte(frame + layout->owner) == OWNER_GENERATOR;
}

static bool begins_evaluator(const struct python_layout *layout, uintptr_t frame)
{
    return layout->objects ||
           (layout->is_entry != LAYOUT_NONE && load_byte(frame + layout->is_entry));
}

/* A frame of a function. False when it cannot be one. */
static bool take_frame(struct walker *walker, const struct python_layout *layout, uintptr_t frame)
{
    struct walk *walk = walker->walk;
    uintptr_t object = load_word(frame + layout->code) & ~TAGS;
    const struct known_code *code =
        code_find(&walk->codes, walker->python, walker->store, walk->pages.pid, object);
    uint32_t offset;

    if (!code)
        return false;
    if (!code->is_function)
        return true;
    offset = offset_of(layout, frame, object);
    if (code->traceable && !has_begun(layout, code, frame, offset))
        return true;
    walk->places[walker->count++] =
        (uint64_t)code->number << 32 | offset | (begins_evaluator(layout, frame) ? PLACE_ENTRY : 0);
    return true;
}

/* From 3.12 on a frame of the evaluator itself stands before the first one that it runs. */
static void take_other(struct walker *walker, uintptr_t frame)
{
    keep_record(walker->walk, frame);
    if (walker->count)
        walker->walk->places[walker->count - 1] |= PLACE_ENTRY;
}

static void trust_anew(struct walk *walk)
{
    if (++walk->count % MEMORY_TRUST)
        return;
    memory_forget(&walk->pages);
    walk->codes.trust++;
}

uint32_t walk_python(struct walk *walk, const struct python *python, struct stack_store *store,
                     uintptr_t thread_state)
{
    const struct python_layout *layout = &python->layout;
    struct walker walker = {.walk = walk, .python = python, .store = store};
    uint32_t max = walk->max ? walk->max : WALK_DEPTH;
    uintptr_t frame;

    trust_anew(walk);
    walk->broken = false;
    walk->record_count = 0;
    frame = first_frame(&walker, thread_state);
    for (unsigned passed = 0; frame; passed++) {
        if (walker.count == max) {
            walk->places[walker.count++] = (uint64_t)CODE_CUT << 32;
            break;
        }
        frame = passed == max * PASSED
                    ? 0
                    : memory_view(&walk->pages, frame, LAYOUT_FRAME_BYTES, walker.copy);
        if (!frame) {
            walk->broken = true;
            break;
        }
        if (!layout->objects && load_byte(frame + layout->owner) >= OWNER_OTHER) {
            take_other(&walker, frame);
        } else if (!take_frame(&walker, layout, frame)) {
            walk->broken = true;
            break;
        }
        frame = load_word(frame + layout->previous);
    }
    return walker.count;
}
