/* The handler's state, texts that it copies, and the domains and registered strings of the program.
 */
#include "record/nvtx/state.h"

#include <string.h>
#include <sys/mman.h>

#include "base/poison.h"

struct nvtx_state nvtx_state_storage = {
    .once = PTHREAD_ONCE_INIT,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .switching = PTHREAD_MUTEX_INITIALIZER,
};

/* ---- Messages ----
 *
 * On Linux wchar_t holds one code point. What is no code point becomes U+FFFD, as Unicode asks (The
 * Unicode Standard, section 3.9, U+FFFD substitution).
 */

_Static_assert(sizeof(wchar_t) == 4, "wide characters are code points");

static uint32_t code_point(wchar_t character)
{
    const uint32_t code = (uint32_t)character;
    return code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0xfffd : code;
}

static uint32_t code_bytes(uint32_t code)
{
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

static char *code_put(char *to, uint32_t code)
{
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const uint32_t bytes = code_bytes(code);

    for (uint32_t i = bytes - 1; i > 0; i--) {
        to[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    to[0] = (char)(lead[bytes] | code);
    return to + bytes;
}

uint32_t nvtx_text_clip(const char *string, uint32_t limit)
{
    /* A character has at most three bytes after its first. If more follow, the text is not UTF-8.
     */
    for (int i = 0; i < 3 && ((unsigned char)string[limit] & 0xc0) == 0x80; i++)
        limit--;
    return limit;
}

struct nvtx_text nvtx_text_wide(const wchar_t *string, uint32_t limit)
{
    struct nvtx_text text = {.form = NVTX_NO_TEXT};

    if (!string)
        return text;
    text.form = NVTX_WIDE;
    text.at.wide = string;
    for (const wchar_t *character = string; *character; character++) {
        const uint32_t bytes = code_bytes(code_point(*character));
        if (bytes > limit - text.bytes)
            break;
        text.bytes += bytes;
    }
    return text;
}

struct nvtx_text nvtx_text_registered(const struct nvtx_string *string)
{
    return (struct nvtx_text){.form = string ? NVTX_REGISTERED : NVTX_NO_TEXT,
                              .at.registered = string};
}

void nvtx_text_copy_wide(char *to, struct nvtx_text text)
{
    char *const end = to + text.bytes;

    for (const wchar_t *character = text.at.wide; to < end; character++)
        to = code_put(to, code_point(*character));
    *end = '\0';
}

/* ---- Domains ----
 *
 * Domains and registered strings, and the permanent memory that they live in.
 *
 * Handles are pointers to the records themselves, so a push with a registered string stores eight
 * bytes and looks nothing up. The price: records are never freed and nvtxDomainDestroy does
 * nothing, so an application that makes new names for ever meets the limit. NVTX forbids using a
 * handle after its domain was destroyed; here such a handle is harmless.
 *
 * A process may fork at any moment, also while another of its threads is in here. So a list is
 * changed by one store, when the record is complete, and a child does not use the rest of the
 * block.
 *
 * The memory comes from mmap, not malloc: allocators are annotated with NVTX too.
 */

enum { BLOCK_BYTES = 256 * 1024 };

static bool permanent_extend(struct nvtx_state *state, size_t bytes)
{
    const size_t block = bytes > BLOCK_BYTES ? (bytes + 4095) & ~(size_t)4095 : BLOCK_BYTES;

    if (block > NVTX_PERMANENT_BYTES - state->permanent_total)
        return false;
    void *memory = mmap(NULL, block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    state->permanent = memory;
    state->permanent_left = block;
    state->permanent_total += block;
    return true;
}

void *nvtx_permanent(size_t bytes)
{
    struct nvtx_state *state = nvtx_state();

    if (bytes > NVTX_PERMANENT_BYTES)
        return NULL;
    bytes = (bytes + 7) & ~(size_t)7;
    if (bytes > state->permanent_left && !permanent_extend(state, bytes))
        return NULL;
    void *memory = state->permanent;
    state->permanent += bytes;
    state->permanent_left -= bytes;
    return memory;
}

/* Frees the last record if its text turned out to be registered already. */
static void permanent_return(void *memory)
{
    struct nvtx_state *state = nvtx_state();
    const size_t bytes = (size_t)(state->permanent - (unsigned char *)memory);

    memset(memory, 0, bytes);
    state->permanent -= bytes;
    state->permanent_left += bytes;
}

static struct nvtx_domain *domain_intern(struct nvtx_state *state, const struct nvtx_text *name)
{
    struct nvtx_domain *made = nvtx_permanent(sizeof(*made) + name->bytes + 1);

    if (!made)
        return NULL;
    nvtx_text_copy(made->name, *name);
    for (struct nvtx_domain *known = state->domains; known; known = known->next) {
        if (strcmp(known->name, made->name) == 0) {
            permanent_return(made);
            return known;
        }
    }
    /* Slot 0 is the default domain's. */
    state->domain_count++;
    made->slot =
        state->domain_count < NVTX_LEVEL_SLOTS ? state->domain_count : NVTX_LEVEL_SLOTS - 1;
    made->next = state->domains;
    __atomic_store_n(&state->domains, made, __ATOMIC_RELEASE);
    return made;
}

/* FNV-1a */
static uint32_t string_bucket(const struct nvtx_string *string)
{
    uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)(uintptr_t)string->domain;

    for (uint32_t i = 0; i < string->bytes; i++)
        hash = (hash ^ (unsigned char)string->text[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ (hash >> 32)) % NVTX_STRING_BUCKETS;
}

static struct nvtx_string *string_intern(struct nvtx_state *state, const struct nvtx_domain *domain,
                                         const struct nvtx_text *text)
{
    struct nvtx_string *made = nvtx_permanent(sizeof(*made) + text->bytes + 1);

    if (!made)
        return NULL;
    made->domain = domain;
    made->bytes = text->bytes;
    nvtx_text_copy(made->text, *text);
    struct nvtx_string **bucket = &state->strings[string_bucket(made)];
    for (struct nvtx_string *known = *bucket; known; known = known->next) {
        if (known->domain == domain && known->bytes == made->bytes &&
            memcmp(known->text, made->text, made->bytes) == 0) {
            permanent_return(made);
            return known;
        }
    }
    made->next = *bucket;
    __atomic_store_n(bucket, made, __ATOMIC_RELEASE);
    return made;
}

struct nvtx_domain *nvtx_domain_intern(struct nvtx_text name)
{
    struct nvtx_state *state = nvtx_state();

    if (name.form == NVTX_NO_TEXT || atomic_load_explicit(&state->inert, memory_order_relaxed))
        return NULL;
    pthread_mutex_lock(&state->lock);
    struct nvtx_domain *domain = domain_intern(state, &name);
    pthread_mutex_unlock(&state->lock);
    return domain;
}

struct nvtx_string *nvtx_string_intern(const struct nvtx_domain *domain, struct nvtx_text text)
{
    struct nvtx_state *state = nvtx_state();

    if (text.form == NVTX_NO_TEXT || atomic_load_explicit(&state->inert, memory_order_relaxed))
        return NULL;
    pthread_mutex_lock(&state->lock);
    struct nvtx_string *string = string_intern(state, domain, &text);
    pthread_mutex_unlock(&state->lock);
    return string;
}
