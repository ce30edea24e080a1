/* Native frames get functions and lines, so that they are frames like those of Python. */
#ifndef MP_PROFILE_STACKS_NATIVES_H
#define MP_PROFILE_STACKS_NATIVES_H

#include "profile/stacks/call_stacks.h"

struct native_module {
    const char *path; /* NULL: unknown */
    const char *build_id;
};

struct native_frame {
    uint32_t frame; /* its id */
    uint32_t module;
    uint64_t address; /* where it returns to, in the module's file */
};

/* As the trace has them. */
struct natives {
    struct dense modules; /* of struct native_module, by id */
    struct native_frame *frames;
    size_t count, capacity;
    const char *program; /* the file that was executed; NULL: not known */
};

/* Fills in `code`, `line` and `program` of these frames, with codes behind those of the trace.
 * MP_ERR_MEMORY.
 */
enum mp_status natives_name(struct natives *natives, struct call_stacks *stacks);

void natives_free(struct natives *natives);

#endif
