/* Messages of NVTX calls: narrow, wide or registered; measured first, then copied into place. */
#ifndef MP_RECORD_NVTX_TEXT_H
#define MP_RECORD_NVTX_TEXT_H

#include "record/nvtx_state.h"

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

/* Borrow the string. NULL makes a text without form; what is longer than limit bytes is clipped at
 * a character's begin. */
struct nvtx_text nvtx_text_narrow(const char *string, uint32_t limit) NVTX_HIDDEN;
struct nvtx_text nvtx_text_wide(const wchar_t *string, uint32_t limit) NVTX_HIDDEN;
struct nvtx_text nvtx_text_registered(const struct nvtx_string *string) NVTX_HIDDEN;

/* Writes a narrow or wide text and a zero: bytes + 1 in all. */
void nvtx_text_copy(char *to, const struct nvtx_text *text) NVTX_HIDDEN;

#endif
