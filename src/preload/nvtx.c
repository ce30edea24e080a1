/* NVTX's ranges as marks of steps. NVTX loads this library by NVTX_INJECTION64_PATH and lets it
 * fill its tables. Where a recorder is there too (STEPS_NVTX), it fills them first, and ours stand
 * before its functions. What neither of both fills does nothing, as without a tool.
 *
 * The numbers and types are those of NVTX 3's headers, which are not needed to build this.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <wchar.h>

#include "preload/next.h"
#include "preload/slots.h"
#include "preload/steps.h"

#include "base/poison.h"

/* ---- From NVTX's headers (nvtxTypes.h, nvToolsExt.h) ---- */

enum { MODULE_CORE = 1, MODULE_CORE2 = 5, TABLE_CALLBACKS = 1, NOT_TRACKED = -2 };
enum { MESSAGE_ASCII = 1, MESSAGE_UNICODE = 2, MESSAGE_REGISTERED = 3 };

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};
_Static_assert(offsetof(struct attributes, message) == 40, "as in nvToolsExt.h");

typedef void any_function(void);
typedef const void *get_export_table(uint32_t table);

struct nvtx_callbacks {
    size_t bytes;
    int (*module_table)(int module, any_function ****table, unsigned *size);
};

/* ---- Handles: what texts registered strings and domains stand for ---- */

#define HANDLES 8192u /* a power of two */

static struct {
    void *_Atomic handle;
    uint32_t hash;
} handles[HANDLES];

static size_t slot_of(const void *handle, size_t i)
{
    return (((uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15) >> 32) + i) % HANDLES;
}

/* Beyond HANDLES it stands for no text. */
static void remember(void *handle, uint32_t hash)
{
    for (size_t i = 0; handle && i < HANDLES; i++) {
        size_t at = slot_of(handle, i);
        void *free_place = NULL;

        if (atomic_compare_exchange_strong(&handles[at].handle, &free_place, handle) ||
            free_place == handle) {
            handles[at].hash = hash;
            return;
        }
    }
}

static uint32_t hash_of(const void *handle)
{
    for (size_t i = 0; handle && i < HANDLES; i++) {
        size_t at = slot_of(handle, i);
        const void *found = atomic_load_explicit(&handles[at].handle, memory_order_relaxed);

        if (found == handle)
            return handles[at].hash;
        if (!found)
            break;
    }
    return 0;
}

/* Where there is no recorder whose handle it could be. Nobody follows it. */
static void *new_handle(void)
{
    static _Atomic uintptr_t last = 0x1000;

    return (void *)(atomic_fetch_add(&last, 16) + 16);
}

/* ---- Texts ---- */

/* Of the text as UTF-8. */
static uint32_t hash_wide(const wchar_t *text)
{
    char narrow[STEPS_NAME_BYTES + 4];
    unsigned used = 0;

    for (; *text && used < STEPS_NAME_BYTES; text++) {
        uint32_t c = (uint32_t)*text;
        unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

        narrow[used++] = (char)(more ? (0xF0u << (3 - more) & 0xFF) | c >> 6 * more : c);
        while (more--)
            narrow[used++] = (char)(0x80 | (c >> 6 * more & 0x3F));
    }
    narrow[used] = '\0';
    return steps_hash(narrow);
}

static uint32_t hash_event(const struct attributes *event)
{
    if (!event || !event->message)
        return 0;
    switch (event->message_type) {
    case MESSAGE_ASCII:
        return steps_hash(event->message);
    case MESSAGE_UNICODE:
        return hash_wide(event->message);
    case MESSAGE_REGISTERED:
        return hash_of(event->message);
    default:
        return 0;
    }
}

static uint32_t hash_text(const char *text)
{
    return text ? steps_hash(text) : 0;
}

/* ---- NVTX's functions ----
 *
 * A mark is put outside of what the recorder does for the call, which belongs to the step. */

static struct {
    int (*push_ex)(const struct attributes *event);
    int (*push_a)(const char *text);
    int (*push_w)(const wchar_t *text);
    int (*pop)(void);
    uint64_t (*start_ex)(const struct attributes *event);
    uint64_t (*start_a)(const char *text);
    uint64_t (*start_w)(const wchar_t *text);
    void (*range_end)(uint64_t id);
    int (*domain_push_ex)(void *domain, const struct attributes *event);
    int (*domain_pop)(void *domain);
    uint64_t (*domain_start_ex)(void *domain, const struct attributes *event);
    void (*domain_end)(void *domain, uint64_t id);
    void *(*register_a)(void *domain, const char *text);
    void *(*register_w)(void *domain, const wchar_t *text);
    void *(*create_a)(const char *name);
    void *(*create_w)(const wchar_t *name);
} inner;

static int push_ex(const struct attributes *event)
{
    steps_put(STEPS_PUSH, hash_event(event), 0);
    return inner.push_ex ? inner.push_ex(event) : NOT_TRACKED;
}

static int push_a(const char *text)
{
    steps_put(STEPS_PUSH, hash_text(text), 0);
    return inner.push_a ? inner.push_a(text) : NOT_TRACKED;
}

static int push_w(const wchar_t *text)
{
    steps_put(STEPS_PUSH, text ? hash_wide(text) : 0, 0);
    return inner.push_w ? inner.push_w(text) : NOT_TRACKED;
}

static int pop(void)
{
    int level = inner.pop ? inner.pop() : NOT_TRACKED;

    steps_put(STEPS_POP, 0, 0);
    return level;
}

static uint64_t name_range(uint64_t id)
{
    static _Atomic uint64_t last;

    if (!id)
        id = atomic_fetch_add(&last, 1) + 1;
    steps_put(STEPS_ID, (uint32_t)id, 0);
    return id;
}

static uint64_t start_ex(const struct attributes *event)
{
    steps_put(STEPS_BEGIN, hash_event(event), 0);
    return name_range(inner.start_ex ? inner.start_ex(event) : 0);
}

static uint64_t start_a(const char *text)
{
    steps_put(STEPS_BEGIN, hash_text(text), 0);
    return name_range(inner.start_a ? inner.start_a(text) : 0);
}

static uint64_t start_w(const wchar_t *text)
{
    steps_put(STEPS_BEGIN, text ? hash_wide(text) : 0, 0);
    return name_range(inner.start_w ? inner.start_w(text) : 0);
}

static void range_end(uint64_t id)
{
    if (inner.range_end)
        inner.range_end(id);
    steps_put(STEPS_END, (uint32_t)id, 0);
}

static int domain_push_ex(void *domain, const struct attributes *event)
{
    steps_put(STEPS_PUSH, hash_event(event), hash_of(domain));
    return inner.domain_push_ex ? inner.domain_push_ex(domain, event) : NOT_TRACKED;
}

static int domain_pop(void *domain)
{
    int level = inner.domain_pop ? inner.domain_pop(domain) : NOT_TRACKED;

    steps_put(STEPS_POP, 0, hash_of(domain));
    return level;
}

static uint64_t domain_start_ex(void *domain, const struct attributes *event)
{
    steps_put(STEPS_BEGIN, hash_event(event), hash_of(domain));
    return name_range(inner.domain_start_ex ? inner.domain_start_ex(domain, event) : 0);
}

static void domain_end(void *domain, uint64_t id)
{
    if (inner.domain_end)
        inner.domain_end(domain, id);
    steps_put(STEPS_END, (uint32_t)id, 0);
}

static void *named(void *handle, uint32_t hash)
{
    if (!handle)
        handle = new_handle();
    remember(handle, hash);
    return handle;
}

static void *register_a(void *domain, const char *text)
{
    return named(inner.register_a ? inner.register_a(domain, text) : NULL, hash_text(text));
}

static void *register_w(void *domain, const wchar_t *text)
{
    return named(inner.register_w ? inner.register_w(domain, text) : NULL,
                 text ? hash_wide(text) : 0);
}

static void *create_a(const char *name)
{
    return named(inner.create_a ? inner.create_a(name) : NULL, hash_text(name));
}

static void *create_w(const wchar_t *name)
{
    return named(inner.create_w ? inner.create_w(name) : NULL, name ? hash_wide(name) : 0);
}

/* ---- NVTX's tables ---- */

static const struct {
    int module;
    unsigned id;
    any_function *ours;
    any_function **inner;
} slots[] = {
#define SLOT(module, id, name)                                                                     \
    {module, id, (any_function *)name, (any_function **)(void *)&inner.name},
    /* clang-format off */
    SLOT(MODULE_CORE, 4, start_ex) SLOT(MODULE_CORE, 5, start_a) SLOT(MODULE_CORE, 6, start_w)
    SLOT(MODULE_CORE, 7, range_end) SLOT(MODULE_CORE, 8, push_ex) SLOT(MODULE_CORE, 9, push_a)
    SLOT(MODULE_CORE, 10, push_w) SLOT(MODULE_CORE, 11, pop)
    SLOT(MODULE_CORE2, 2, domain_start_ex) SLOT(MODULE_CORE2, 3, domain_end)
    SLOT(MODULE_CORE2, 4, domain_push_ex) SLOT(MODULE_CORE2, 5, domain_pop)
    SLOT(MODULE_CORE2, 10, register_a) SLOT(MODULE_CORE2, 11, register_w)
    SLOT(MODULE_CORE2, 12, create_a) SLOT(MODULE_CORE2, 13, create_w)
/* clang-format on */
#undef SLOT
};

#define SLOTS (sizeof slots / sizeof *slots)

/* Where NVTX keeps the pointer to the function; NULL: this NVTX has none. */
static any_function **entry_of(const struct nvtx_callbacks *callbacks, size_t slot)
{
    any_function ***table = NULL;
    unsigned size = 0;

    if (!callbacks->module_table(slots[slot].module, &table, &size) || !table ||
        slots[slot].id >= size)
        return NULL;
    return table[slots[slot].id];
}

static void *find_recorder(const char *name)
{
    const char *path = getenv(STEPS_NVTX);
    void *library = path && *path ? LIBC(dlopen)(path, RTLD_LAZY) : NULL;

    return library ? LIBC(dlsym)(library, name) : NULL;
}

static int take_over(get_export_table *get_table, const char *name)
{
    int (*recorder)(get_export_table *) = NULL;
    const struct nvtx_callbacks *callbacks = get_table ? get_table(TABLE_CALLBACKS) : NULL;
    any_function *before[SLOTS];

    if (!callbacks || callbacks->bytes < sizeof *callbacks || !callbacks->module_table)
        return 0;
    for (size_t i = 0; i < SLOTS; i++)
        before[i] = entry_of(callbacks, i) ? *entry_of(callbacks, i) : NULL;
    *(void **)&recorder = find_recorder(name);
    int taken = recorder ? recorder(get_table) : 0;
    for (size_t i = 0; i < SLOTS && steps_are_wanted(); i++) {
        any_function **entry = entry_of(callbacks, i);

        if (!entry)
            continue;
        if (taken && *entry != before[i])
            *slots[i].inner = *entry;
        __atomic_store_n(entry, slots[i].ours, __ATOMIC_RELEASE);
        taken = 1;
    }
    return taken;
}

SHOWN int InitializeInjectionNvtx(get_export_table *get_table);
SHOWN int InitializeInjectionNvtx2(get_export_table *get_table);
SHOWN int InitializeInjectionNvtxExtension(void *module);

int InitializeInjectionNvtx(get_export_table *get_table)
{
    return take_over(get_table, "InitializeInjectionNvtx");
}

int InitializeInjectionNvtx2(get_export_table *get_table)
{
    return take_over(get_table, "InitializeInjectionNvtx2");
}

/* Ranges with payloads are the recorder's alone. */
int InitializeInjectionNvtxExtension(void *module)
{
    int (*recorder)(void *module) = NULL;

    *(void **)&recorder = find_recorder("InitializeInjectionNvtxExtension");
    return recorder ? recorder(module) : 0;
}
