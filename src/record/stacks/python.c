/* The CPython of this process: whether it is loaded and known, the layout of its frames, where its
 * evaluator's code is, and how its memory is read.
 */
#include "record/stacks/python.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/elf_symbols.h"
#include "base/log.h"
#include "record/stacks/native.h"

#include "base/poison.h"

/* ---- Layouts: tables for old versions, the interpreter's own for new ones ---- */

#define OBJECTS(table_kind, at, instruction_bytes)                                                 \
    {                                                                                              \
        .objects = true, .lines = table_kind, .scale = instruction_bytes, .state_frame = 24,       \
        .inner_frame = LAYOUT_NONE, .previous = 24, .code = 32, .instruction = at,                 \
        .owner = LAYOUT_NONE, .is_entry = LAYOUT_NONE, .first_line = 40, .file = 104, .name = 112, \
        .table = 120, .version = LAYOUT_NONE, .traceable = LAYOUT_NONE, .bytes = 176, .ascii = 48, \
        .wide = 72                                                                                 \
    }

static const struct python_layout layouts[] = {
    OBJECTS(LINE_TABLE_PAIRS, 104, 1), /* 3.8 */
    OBJECTS(LINE_TABLE_PAIRS, 104, 1),
    OBJECTS(LINE_TABLE_RANGES, 96, 2), /* 3.10 */
    {
        .lines = LINE_TABLE_LOCATIONS,
        .state_frame = 56,
        .inner_frame = 8,
        .previous = 48,
        .code = 32,
        .instruction = 56,
        .owner = 69,
        .is_entry = 68,
        .first_line = 72,
        .file = 112,
        .name = 128,
        .table = 136,
        .version = LAYOUT_NONE,
        .traceable = 168,
        .bytes = 184,
        .ascii = 48,
        .wide = 72,
    },
    {
        .lines = LINE_TABLE_LOCATIONS,
        .state_frame = 56,
        .inner_frame = 0,
        .previous = 8,
        .code = 0,
        .instruction = 56,
        .owner = 70,
        .is_entry = LAYOUT_NONE,
        .first_line = 68,
        .file = 112,
        .name = 128,
        .table = 136,
        .version = 92,
        .traceable = 176,
        .bytes = 192,
        .ascii = 40,
        .wide = 56,
    },
};

#define FIRST_MINOR 8u
#define COUNT       (sizeof(layouts) / sizeof(layouts[0]))

const struct python_layout *layout_of(unsigned minor)
{
    return minor >= FIRST_MINOR && minor - FIRST_MINOR < COUNT ? &layouts[minor - FIRST_MINOR]
                                                               : NULL;
}

/* ---- _Py_DebugOffsets ---- */

/* Its fields, as numbers of 64-bit words. Releases of a version keep them. */
enum offsets_word {
    WORD_COOKIE,
    WORD_VERSION,
    WORD_FREE_THREADED,
    WORD_INTERPRETER = 6 /* the first of the interpreter's */
};

/* How many words each part has. */
struct offsets_parts {
    size_t interpreter, state, frame, code;
};

static const struct offsets_parts parts_of[] = {
    {13, 9, 6, 10}, /* 3.13 */
    {16, 9, 8, 11},
};

#define COOKIE        "xdebugpy"
#define MINOR(hex)    ((hex) >> 16 & 0xff)
#define IS_FINAL(hex) (((hex)&0xf0) == 0xf0)
#define FIRST_TOLD    13u /* the first version that tells */
#define TOLD          (sizeof(parts_of) / sizeof(parts_of[0]))

/* Between the first line and the names of variables lie six numbers; the last is the version. */
#define VERSION_DISTANCE 28u

struct words {
    const uint64_t *at;
    size_t count;
    bool fails;
};

/* A word that is an offset; a great one is none. */
static uint16_t offset(struct words *words, size_t number)
{
    if (number >= words->count || words->at[number] >= LAYOUT_NONE) {
        words->fails = true;
        return LAYOUT_NONE;
    }
    return (uint16_t)words->at[number];
}

/* Whether a field of a struct is in those of its bytes that are shown to be mapped. */
static bool lies_in(uint16_t field, size_t size, size_t bytes)
{
    return field + size <= bytes;
}

static bool is_word_of_code(const struct python_layout *layout, uint16_t field)
{
    return lies_in(field, sizeof(uint64_t), layout->bytes);
}

static bool is_number_of_code(const struct python_layout *layout, uint16_t field)
{
    return lies_in(field, sizeof(uint32_t), layout->bytes);
}

static bool is_word_of_frame(uint16_t field)
{
    return lies_in(field, sizeof(uint64_t), LAYOUT_FRAME_BYTES);
}

/* The interpreter gave it, and a walk loads what it says. */
static bool is_plausible(const struct python_layout *layout)
{
    return layout->bytes <= LAYOUT_CODE_BYTES && is_word_of_code(layout, LAYOUT_TYPE) &&
           is_number_of_code(layout, layout->first_line) && is_word_of_code(layout, layout->file) &&
           is_word_of_code(layout, layout->name) && is_word_of_code(layout, layout->table) &&
           is_number_of_code(layout, layout->traceable) &&
           (layout->version == LAYOUT_NONE || is_number_of_code(layout, layout->version)) &&
           lies_in(layout->state_frame, sizeof(uint64_t), LAYOUT_STATE_BYTES) &&
           is_word_of_frame(layout->code) && is_word_of_frame(layout->previous) &&
           is_word_of_frame(layout->instruction) && lies_in(layout->owner, 1, LAYOUT_FRAME_BYTES);
}

bool layout_from_offsets(struct python_layout *layout, const void *offsets, size_t bytes,
                         uint32_t version, const char **why)
{
    struct words words = {offsets, bytes / sizeof(uint64_t), false};

    *why = "is not known";
    if (words.count <= WORD_INTERPRETER || memcmp(words.at, COOKIE, sizeof(uint64_t)) != 0 ||
        words.at[WORD_VERSION] != version || !IS_FINAL(version) || MINOR(version) < FIRST_TOLD ||
        MINOR(version) - FIRST_TOLD >= TOLD)
        return false;
    const struct offsets_parts *parts = &parts_of[MINOR(version) - FIRST_TOLD];
    size_t state = (size_t)WORD_INTERPRETER + parts->interpreter;
    size_t frame = state + parts->state;
    size_t code = frame + parts->frame;
    size_t after = code + parts->code; /* of objects in general */
    if (words.at[WORD_FREE_THREADED]) {
        *why = "is free-threaded";
        return false;
    }
    *layout = (struct python_layout){
        .lines = LINE_TABLE_LOCATIONS,
        .state_frame = offset(&words, state + 4),
        .inner_frame = LAYOUT_NONE,
        .previous = offset(&words, frame + 1),
        .code = offset(&words, frame + 2),
        .instruction = offset(&words, frame + 3),
        .owner = offset(&words, frame + 5),
        .is_entry = LAYOUT_NONE,
        .file = offset(&words, code + 1),
        .name = offset(&words, code + 3),
        .table = offset(&words, code + 4),
        .first_line = offset(&words, code + 5),
        .bytes = offset(&words, code + 9),
        .ascii = 40,
        .wide = 56,
    };
    uint16_t variables = offset(&words, code + 7);
    /* Two fields stand before the instructions: the first that counts, and `co_extra`. */
    layout->traceable = (uint16_t)(layout->bytes - 16u);
    layout->version = variables == layout->first_line + VERSION_DISTANCE
                          ? (uint16_t)(variables - sizeof(uint32_t))
                          : LAYOUT_NONE;
    return !words.fails && offset(&words, after + 1) == LAYOUT_TYPE && is_plausible(layout);
}

/* ---- Line tables: three formats, of CPython's Objects/lnotab_notes.txt and locations.md ---- */

/* A byte of a table as a number from -128 to 127. */
static int signed_byte(uint8_t byte)
{
    return byte < 128 ? byte : byte - 256;
}

static uint32_t line_or_none(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs: by how many bytes, and then by how many lines, it goes on. */
static uint32_t line_by_pairs(const uint8_t *table, size_t bytes, int64_t line, uint32_t at)
{
    uint64_t address = 0;

    for (size_t i = 0; i + 1 < bytes; i += 2) {
        address += table[i];
        if (address > at)
            break;
        line += signed_byte(table[i + 1]);
    }
    return line_or_none(line);
}

#define NO_LINE (-128)

/* Pairs: how many bytes the next lines take, and by how many lines they begin later. */
static uint32_t line_by_ranges(const uint8_t *table, size_t bytes, int64_t line, uint32_t at)
{
    uint64_t end = 0;

    for (size_t i = 0; i + 1 < bytes; i += 2) {
        int change = signed_byte(table[i + 1]);

        end += table[i];
        if (change != NO_LINE)
            line += change;
        if (end > at)
            return change == NO_LINE ? 0 : line_or_none(line);
    }
    return 0;
}

/* ---- Since 3.11 ---- */

enum location_code {
    LOCATION_ONE_LINE = 10, /* to 12: the difference is the code less 10 */
    LOCATION_NO_COLUMN = 13,
    LOCATION_LONG = 14,
    LOCATION_NONE = 15
};

/* Six bits a byte; the seventh says that more follow. */
static int64_t signed_number(const uint8_t *table, size_t bytes, size_t at)
{
    uint64_t value = 0;

    for (unsigned shift = 0; at < bytes && shift < 36; at++, shift += 6) {
        value |= (uint64_t)(table[at] & 63) << shift;
        if (!(table[at] & 64))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static uint32_t line_by_locations(const uint8_t *table, size_t bytes, int64_t line, uint32_t at)
{
    uint64_t end = 0;
    size_t i = 0;

    while (i < bytes) {
        unsigned code = table[i] >> 3 & 15;

        end += 2 * (uint64_t)((table[i] & 7u) + 1);
        if (code == LOCATION_LONG || code == LOCATION_NO_COLUMN)
            line += signed_number(table, bytes, i + 1);
        else if (code >= LOCATION_ONE_LINE && code < LOCATION_NO_COLUMN)
            line += code - LOCATION_ONE_LINE;
        if (end > at)
            return code == LOCATION_NONE ? 0 : line_or_none(line);
        do
            i++;
        while (i < bytes && !(table[i] & 128));
    }
    return 0;
}

uint32_t lines_of(enum line_table kind, const uint8_t *table, size_t bytes, uint32_t first_line,
                  uint32_t at)
{
    switch (kind) {
    case LINE_TABLE_PAIRS:
        return line_by_pairs(table, bytes, first_line, at);
    case LINE_TABLE_RANGES:
        return line_by_ranges(table, bytes, first_line, at);
    case LINE_TABLE_LOCATIONS:
        return line_by_locations(table, bytes, first_line, at);
    case LINE_TABLE_NONE:
    default:
        return 0;
    }
}

/* ---- Memory that may not be mapped ---- */

bool memory_copy(pid_t pid, void *to, uintptr_t from, size_t bytes)
{
    struct iovec here = {to, bytes};
    struct iovec there = {(void *)from, bytes};
    int before = errno;
    bool whole = process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;

    errno = before;
    return whole;
}

bool memory_show_page(struct known_pages *known, uintptr_t page)
{
    char byte;

    if (!memory_copy(known->pid, &byte, page << MEMORY_PAGE_BITS, sizeof(byte)))
        return false;
    known->pages[page % MEMORY_SETS][known->hand++ % MEMORY_WAYS] = page;
    return true;
}

void memory_forget(struct known_pages *known)
{
    memset(known->pages, 0, sizeof(known->pages));
    known->last = 0;
}

/* ---- The evaluator: by its symbol, and by the records that it keeps on the stack ---- */

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

/* Takes what the symbol tells. */
static void evaluator_find(struct evaluator *evaluator)
{
    void *address = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
    void *found = NULL;
    Dl_info info;

    if (!address || !dladdr1(address, &info, &found, RTLD_DL_SYMENT) || !found)
        return;
    const Elf64_Sym *symbol = found;
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

/* ---- The interpreter ---- */

struct lookup {
    struct elf_name name;
    bool found;
};

static int look_at_module(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct lookup *lookup = context;
    struct elf_symbols symbols;

    (void)bytes;
    if (!elf_symbols_open_shown(&symbols, info))
        return 0;
    lookup->found =
        !(symbols.gnu_table || symbols.sysv_table) || elf_symbols_find(&symbols, &lookup->name);
    return lookup->found;
}

/* Whether a module defines the symbol. True also if one has no table in which to look it up. About
 * 50 ns a module. */
static bool loaded_defines(const char *name)
{
    struct lookup lookup = {.name = elf_name(name)};

    dl_iterate_phdr(look_at_module, &lookup);
    return lookup.found;
}

#define LOOK_EVERY 1024u /* calls, while there is no Python */

/* A symbol of the process, as a function or as data. */
static void *find(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

static void refuse(struct python *python, const char *version, const char *why)
{
    atomic_store_explicit(&python->state, PYTHON_REFUSED, memory_order_release);
    mp_log_warn("MINIPROF_STACKS: Python %s %s: no Python stacks", version, why);
}

/* "3.11.7 (main, ...": as PY_VERSION_HEX of a release; 0: not such a text. Since 3.11 the number
 * itself is there. */
static uint32_t version_of(const char *text)
{
    const uint32_t *number = find("Py_Version");
    char *end;

    if (number)
        return *number;
    if (text[0] != '3' || text[1] != '.')
        return 0;
    return 3u << 24 | (uint32_t)(strtoul(text + 2, &end, 10) & 0xff) << 16;
}

static bool find_layout(struct python *python, pid_t pid, uint32_t version, const char **why)
{
    const void *runtime = find("_PyRuntime");
    const struct python_layout *known = version >> 24 == 3 ? layout_of(version >> 16 & 0xff) : NULL;
    uint64_t offsets[LAYOUT_DEBUG_BYTES / sizeof(uint64_t)];

    *why = "is not known";
    if (known) {
        python->layout = *known;
        return true;
    }
    return runtime && memory_copy(pid, offsets, (uintptr_t)runtime, sizeof(offsets)) &&
           layout_from_offsets(&python->layout, offsets, sizeof(offsets), version, why);
}

/* The number at the begin of the version: "3.12.1" of "3.12.1 (main, ...)". */
static void take_version(char *to, size_t bytes, const char *text)
{
    size_t length = strcspn(text, " ");

    if (length >= bytes)
        length = bytes - 1;
    memcpy(to, text, length);
    to[length] = '\0';
}

static void learn(struct python *python, pid_t pid, const char *text)
{
    void *type = find("PyCode_Type");
    char version[32];
    const char *why;

    take_version(version, sizeof(version), text);
    python->code_type = (uintptr_t)type;
    *(void **)&python->thread_state = find("PyGILState_GetThisThreadState");
    *(void **)&python->is_finalizing = find("_Py_IsFinalizing");
    if (!python->is_finalizing)
        *(void **)&python->is_finalizing = find("Py_IsFinalizing");
    *(void **)&python->first_interpreter = find("PyInterpreterState_Head");
    *(void **)&python->main_interpreter = find("PyInterpreterState_Main");
    *(void **)&python->holds_gil = find("PyGILState_Check");
    if (!type || !python->thread_state || !python->is_finalizing || !python->first_interpreter ||
        !python->main_interpreter)
        refuse(python, version, "shows too little of itself");
    else if (!memory_copy(pid, &type, (uintptr_t)&python->code_type, sizeof(type)))
        refuse(python, version, "cannot be walked safely, since process_vm_readv is refused here");
    else if (!find_layout(python, pid, version_of(text), &why))
        refuse(python, version, why);
    else {
        evaluator_find(&python->evaluator);
        atomic_store_explicit(&python->state, PYTHON_READY, memory_order_release);
    }
}

/* A program may load Python late. A look among 20 modules takes 1 us, among 200 some 12 us: at each
 * 1024th call that is nothing. The first looks are closer together. dlsym, which waits for dlopen
 * in other threads, is only called where Python is (loaded_removals). */
static bool may_be_there(struct python *python)
{
    uint32_t asked = atomic_fetch_add_explicit(&python->asked, 1, memory_order_relaxed) + 1;

    return (!(asked & (asked - 1)) || asked % LOOK_EVERY == 0) && loaded_defines("Py_GetVersion");
}

void python_look(struct python *python, pid_t pid)
{
    int expected = PYTHON_UNSEEN;
    const char *(*get_version)(void);

    if (!may_be_there(python) ||
        !atomic_compare_exchange_strong(&python->state, &expected, PYTHON_LOOKING))
        return;
    *(void **)&get_version = find("Py_GetVersion");
    if (get_version)
        learn(python, pid, get_version());
    else
        atomic_store(&python->state, PYTHON_UNSEEN);
}

/* A thread that has left one interpreter for another may show the frames of the first. */
static bool has_several(struct python *python)
{
    if (__builtin_expect(python->first_interpreter() == python->main_interpreter(), 1))
        return false;
    if (!atomic_exchange(&python->several_said, true))
        mp_log_warn("MINIPROF_STACKS: Python has sub-interpreters: no Python stacks while they "
                    "are there");
    return true;
}

uintptr_t python_thread_state_now(const struct python *python)
{
    void *state = python->thread_state();

    return state && !python->is_finalizing() &&
                   python->first_interpreter() == python->main_interpreter()
               ? (uintptr_t)state
               : 0;
}

uintptr_t python_thread_state(struct python *python)
{
    void *state = python->thread_state();

    return state && !python->is_finalizing() && !has_several(python) ? (uintptr_t)state : 0;
}
