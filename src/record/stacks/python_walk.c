/* A walk through the frames of a Python thread, and what is known of the code objects that it
 * meets.
 */
#include "record/stacks/python_walk.h"

#include <string.h>
#include <sys/mman.h>

#include "base/data/hash.h"

#include "base/poison.h"

/* ---- An arena: a mapping that is filled from its begin ---- */

#define UNIT sizeof(uint64_t)

/* The function follows. */
struct entry {
    uint32_t asked;  /* whether the store was. The writer's, like the next */
    uint32_t number; /* the store's */
};

bool code_arena_open(struct code_arena *arena)
{
    void *memory = mmap(NULL, CODE_ARENA_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    arena->memory = memory == MAP_FAILED ? NULL : memory;
    return arena->memory != NULL;
}

void code_arena_close(struct code_arena *arena)
{
    if (arena->memory)
        munmap(arena->memory, CODE_ARENA_BYTES);
    arena->memory = NULL;
}

/* Puts a function as store_code takes it, in `bytes` bytes. Its number, with the bit
 * CODE_ARENA_NUMBER; 0 without room. Any thread; async-signal-safe. */
static uint32_t code_arena_add(struct code_arena *arena, const void *code, size_t bytes)
{
    static const struct entry entry;
    size_t room = (sizeof entry + bytes + UNIT - 1) / UNIT * UNIT;
    size_t at = atomic_load_explicit(&arena->used, memory_order_relaxed);

    do {
        if (!arena->memory || room > CODE_ARENA_BYTES - at)
            return 0;
    } while (!atomic_compare_exchange_weak(&arena->used, &at, at + room));
    memcpy(arena->memory + at, &entry, sizeof entry);
    memcpy(arena->memory + at + sizeof entry, code, bytes);
    return CODE_ARENA_NUMBER | (uint32_t)(at / UNIT);
}

uint32_t code_arena_number(struct code_arena *arena, struct stack_store *store, uint32_t number)
{
    char *at = arena->memory + (size_t)(number & ~CODE_ARENA_NUMBER) * UNIT;
    struct entry entry;

    memcpy(&entry, at, sizeof entry);
    if (!entry.asked) {
        entry.asked = true;
        entry.number = store_code(store, (struct stored_code *)(void *)(at + sizeof entry));
        memcpy(at, &entry, sizeof entry);
    }
    return entry.number;
}

/* ---- Code objects ----
 *
 * Looks code objects up by their addresses, and reads those that are new. What is new is read by
 * the kernel's copy, so nothing of it is trusted: sizes are bounded and texts may be anything.
 */

/* ---- Those that are known ---- */

#define HALF ((size_t)CODE_HASH_BYTES / 2)

/* Of a table that has more than CODE_HASH_BYTES, its two ends count. */
static uint64_t hash_ends(const uint8_t *first, const uint8_t *last, size_t bytes)
{
    return mp_hash64(first, HALF, bytes) ^ mp_hash64(last, HALF, ~bytes);
}

static uint64_t hash_of(const uint8_t *table, size_t bytes)
{
    return bytes <= CODE_HASH_BYTES ? mp_hash64(table, bytes, bytes)
                                    : hash_ends(table, table + bytes - HALF, bytes);
}

/* The same of a table that may be gone. */
static bool hash_copied(struct known_codes *codes, pid_t pid, uintptr_t table, size_t bytes,
                        uint64_t *hash)
{
    uint8_t *copy = (uint8_t *)codes->scratch;

    if (bytes <= CODE_HASH_BYTES) {
        if (!memory_copy(pid, copy, table, bytes))
            return false;
        *hash = hash_of(copy, bytes);
        return true;
    }
    if (!memory_copy(pid, copy, table, HALF) ||
        !memory_copy(pid, copy + HALF, table + bytes - HALF, HALF))
        return false;
    *hash = hash_ends(copy, copy + HALF, bytes);
    return true;
}

/* 0: none has been given, or there is no such number. */
static uint32_t version_at(const struct python_layout *layout, uintptr_t code)
{
    return layout->version == LAYOUT_NONE ? 0 : load_number(code + layout->version);
}

static bool has_same_table(struct known_codes *codes, pid_t pid, const struct code_parts *parts)
{
    uint64_t bytes, hash;

    if (!codes->arena)
        return load_word(parts->table + LAYOUT_SIZE) == parts->table_bytes &&
               hash_of((const uint8_t *)parts->table + LAYOUT_BYTES_DATA, parts->table_bytes) ==
                   parts->hash;
    return memory_copy(pid, &bytes, parts->table + LAYOUT_SIZE, sizeof bytes) &&
           bytes == parts->table_bytes &&
           hash_copied(codes, pid, parts->table + LAYOUT_BYTES_DATA, bytes, &hash) &&
           hash == parts->hash;
}

/* Without an arena the code object and its table are mapped, since they were when the entry was
 * made. */
static bool is_same(struct known_codes *codes, pid_t pid, const struct known_code *known,
                    const struct code_parts *parts, const struct python_layout *layout)
{
    uint64_t copy[LAYOUT_CODE_BYTES / sizeof(uint64_t)];
    uintptr_t code = known->code;

    if (codes->arena) {
        if (!memory_copy(pid, copy, code, known->is_function ? layout->bytes : 2 * sizeof copy[0]))
            return false;
        code = (uintptr_t)copy;
    }

    if (load_word(code + LAYOUT_TYPE) != parts->type)
        return false;
    if (!known->is_function)
        return true;
    if (load_word(code + layout->name) != parts->name ||
        load_word(code + layout->file) != parts->file ||
        load_word(code + layout->table) != parts->table ||
        load_number(code + layout->first_line) != parts->first_line ||
        version_at(layout, code) != known->version)
        return false;
    return known->version || has_same_table(codes, pid, parts);
}

/* ---- New ones ---- */

/* Characters of one, two or four bytes become UTF-8. */
static size_t put_character(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 63));
        to[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | (c >> 18 & 7));
    to[1] = (char)(0x80 | (c >> 12 & 63));
    to[2] = (char)(0x80 | (c >> 6 & 63));
    to[3] = (char)(0x80 | (c & 63));
    return 4;
}

#define TEXT_CHARACTERS 1023u
#define TEXT_BYTES      ((size_t)TEXT_CHARACTERS * 4)
_Static_assert(sizeof(struct stored_code) + 3 * TEXT_BYTES + CODE_TABLE_BYTES <=
                   sizeof(((struct known_codes *)0)->scratch),
               "two texts, a table, and a text that is being read");

#define STATE_KIND(s)    ((s) >> 2 & 7) /* bytes of a character */
#define STATE_COMPACT(s) ((s) >> 5 & 1)
#define STATE_ASCII(s)   ((s) >> 6 & 1)

/* A string as UTF-8, its last TEXT_CHARACTERS characters if it is longer. Answers its bytes; 0 also
 * if it cannot be read. */
static size_t read_text(struct known_codes *codes, const struct python_layout *layout, pid_t pid,
                        uintptr_t at, char *to)
{
    /* Not on the stack, of which a signal handler may have little. */
    unsigned char *raw = (unsigned char *)codes->scratch + sizeof codes->scratch - TEXT_BYTES;
    uint64_t head[5];
    size_t size, bytes = 0;

    if (!memory_copy(pid, head, at, sizeof(head)))
        return 0;
    uint64_t length = head[LAYOUT_SIZE / sizeof(head[0])];
    uint32_t state = (uint32_t)head[LAYOUT_TEXT_STATE / sizeof(head[0])];
    size = STATE_KIND(state);
    if (length > UINT32_MAX || !STATE_COMPACT(state) || !(size == 1 || size == 2 || size == 4))
        return 0;
    uintptr_t data = at + (STATE_ASCII(state) ? layout->ascii : layout->wide);
    if (length > TEXT_CHARACTERS) {
        data += (length - TEXT_CHARACTERS) * size;
        length = TEXT_CHARACTERS;
    }
    if (!memory_copy(pid, raw, data, length * size))
        return 0;
    for (size_t i = 0; i < length; i++) {
        uint32_t c = 0;

        memcpy(&c, raw + i * size, size); /* little endian */
        bytes += put_character(to + bytes, c);
    }
    return bytes;
}

/* The store's form of it, in `scratch`. Answers its bytes; 0 if it cannot be read. */
static size_t read_code(struct known_codes *codes, const struct python_layout *layout, pid_t pid,
                        struct code_parts *parts)
{
    struct stored_code *to = (void *)codes->scratch;
    char *text = (char *)(to + 1);
    uint64_t head[LAYOUT_BYTES_DATA / sizeof(uint64_t)];

    if (!memory_copy(pid, head, parts->table, sizeof(head)))
        return 0;
    uint64_t bytes = head[LAYOUT_SIZE / sizeof(head[0])];
    if (bytes > UINT32_MAX)
        return 0;
    parts->table_bytes = (uint32_t)bytes;
    *to = (struct stored_code){.first_line = parts->first_line, .lines = layout->lines};
    to->name_bytes = (uint32_t)read_text(codes, layout, pid, parts->name, text);
    text += to->name_bytes;
    to->file_bytes = (uint32_t)read_text(codes, layout, pid, parts->file, text);
    text += to->file_bytes;
    to->table_bytes = bytes < CODE_TABLE_BYTES ? (uint32_t)bytes : CODE_TABLE_BYTES;
    if (!memory_copy(pid, text, parts->table + LAYOUT_BYTES_DATA, to->table_bytes))
        return 0;
    return (size_t)(text - (char *)codes->scratch) + to->table_bytes;
}

static bool all_is_mapped(pid_t pid, uintptr_t at, size_t bytes)
{
    char byte;

    for (size_t i = 0; i < bytes; i += (size_t)1 << MEMORY_PAGE_BITS)
        if (!memory_copy(pid, &byte, at + i, 1))
            return false;
    return !bytes || memory_copy(pid, &byte, at + bytes - 1, 1);
}

static bool learn(struct known_codes *codes, const struct python *python, struct stack_store *store,
                  pid_t pid, struct known_code *known, struct code_parts *parts)
{
    const struct python_layout *layout = &python->layout;
    uint64_t object[LAYOUT_CODE_BYTES / sizeof(uint64_t)];
    uintptr_t at = (uintptr_t)object;

    if ((known->code & 7) || !memory_copy(pid, object, known->code, 2 * sizeof(object[0])))
        return false;
    parts->type = load_word(at + LAYOUT_TYPE);
    known->is_function = parts->type == python->code_type;
    if (!known->is_function)
        return true;
    if (!memory_copy(pid, object, known->code, layout->bytes))
        return false;
    parts->name = load_word(at + layout->name);
    parts->file = load_word(at + layout->file);
    parts->table = load_word(at + layout->table);
    parts->first_line = load_number(at + layout->first_line);
    known->traceable =
        layout->traceable == LAYOUT_NONE ? 0 : load_number(at + layout->traceable) * 2;
    size_t bytes = read_code(codes, layout, pid, parts);
    if (!bytes || !all_is_mapped(pid, parts->table, LAYOUT_BYTES_DATA + parts->table_bytes))
        return false;
    known->number = codes->arena ? code_arena_add(codes->arena, codes->scratch, bytes)
                                 : store_code(store, (struct stored_code *)codes->scratch);
    known->version = version_at(layout, at);
    return known->version || hash_copied(codes, pid, parts->table + LAYOUT_BYTES_DATA,
                                         parts->table_bytes, &parts->hash);
}

/* Not inlined: it has much on its stack. */
static __attribute__((noinline)) const struct known_code *learn_at(struct known_codes *codes,
                                                                   const struct python *python,
                                                                   struct stack_store *store,
                                                                   pid_t pid, uintptr_t code,
                                                                   unsigned way)
{
    struct known_code known = {.code = code, .trust = codes->trust};
    struct code_parts parts = {0};

    if (!learn(codes, python, store, pid, &known, &parts))
        return NULL;
    codes->entries[code_set(code)][way] = known;
    codes->parts[code_set(code)][way] = parts;
    return &codes->entries[code_set(code)][way];
}

const struct known_code *code_compare(struct known_codes *codes, const struct python *python,
                                      struct stack_store *store, pid_t pid, uintptr_t code,
                                      unsigned way)
{
    const struct known_code *known = &codes->entries[code_set(code)][way % CODE_WAYS];

    if (!code)
        return NULL;
    if (way == CODE_WAYS)
        way = codes->hand++ % CODE_WAYS;
    else if (known->trust == codes->trust &&
             is_same(codes, pid, known, &codes->parts[code_set(code)][way], &python->layout))
        return known;
    return learn_at(codes, python, store, pid, code, way);
}

/* ---- The walk: through objects (before 3.11), or records of the evaluator ---- */

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

    if (!state)
        return 0;
    uintptr_t at = load_word(state + layout->state_frame);
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

    if (!code)
        return false;
    if (!code->is_function)
        return true;
    uint32_t offset = offset_of(layout, frame, object);
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

    trust_anew(walk);
    walk->broken = false;
    walk->record_count = 0;
    uintptr_t frame = first_frame(&walker, thread_state);
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
