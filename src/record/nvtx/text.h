/* Messages of NVTX calls: narrow, wide or registered; measured first, then copied into place. */
#ifndef MP_RECORD_NVTX_TEXT_H
#define MP_RECORD_NVTX_TEXT_H

#include "record/nvtx/state.h"

#include <string.h>
#include <wchar.h>

enum nvtx_form { NVTX_NO_TEXT, NVTX_NARROW, NVTX_WIDE, NVTX_REGISTERED };

struct nvtx_text {
    enum nvtx_form form;
    uint32_t bytes; /* as UTF-8, without a zero; of a registered one 0 */
    union {
        const char *narrow;
        const wchar_t *wide;
        const struct nvtx_string *registered;
    } at;
};

/* These borrow the string. NULL gives a text without form. A string longer than `limit` bytes is
 * clipped at the begin of a character. */
static inline struct nvtx_text nvtx_text_narrow(const char *string, uint32_t limit);
struct nvtx_text nvtx_text_wide(const wchar_t *string, uint32_t limit) NVTX_HIDDEN;
struct nvtx_text nvtx_text_registered(const struct nvtx_string *string) NVTX_HIDDEN;

/* Writes a narrow or wide text and a zero: bytes + 1 in all. */
static inline void nvtx_text_copy(char *to, struct nvtx_text text);

/* ---- Inside of a push: inline. The rest of them is in text.c ---- */

uint32_t nvtx_text_clip(const char *string, uint32_t limit) NVTX_HIDDEN;
void nvtx_text_copy_wide(char *to, struct nvtx_text text) NVTX_HIDDEN;

static inline struct nvtx_text nvtx_text_narrow(const char *string, uint32_t limit)
{
    size_t bytes;

    if (!string)
        return (struct nvtx_text){.form = NVTX_NO_TEXT};
    bytes = strnlen(string, (size_t)limit + 1);
    if (__builtin_expect(bytes > limit, 0))
        bytes = nvtx_text_clip(string, limit);
    return (struct nvtx_text){.form = NVTX_NARROW, .bytes = (uint32_t)bytes, .at.narrow = string};
}

static inline void nvtx_text_copy(char *to, struct nvtx_text text)
{
    if (text.form == NVTX_WIDE) {
        nvtx_text_copy_wide(to, text);
        return;
    }
    if (text.form == NVTX_NARROW)
        memcpy(to, text.at.narrow, text.bytes);
    to[text.bytes] = '\0';
}

#endif
