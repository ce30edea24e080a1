/* What stands before the functions of the driver that take host functions, or wait for the GPU.
 *
 * All arguments are integers or pointers, six at most. So one kind of function can stand before all
 * of them: it passes all six registers on, as many as the function behind it looks at. Each
 * function of the driver that is found has a slot of its own, like the stubs (slots.c).
 */
#include "preload/host_calls.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "preload/next.h"
#include "preload/slots.h"
#include "preload/steps.h"
#include "preload/waits.h"

#include "base/poison.h"

/* From cuda.h, which is not needed to build this. */
#define CUDA_SUCCESS         0
#define CUDA_ERROR_NOT_FOUND 500
#define NODE_TYPE_HOST       3                /* CU_GRAPH_NODE_TYPE_HOST */
#define STREAM_PER_THREAD    ((uintptr_t)0x2) /* CU_STREAM_PER_THREAD */
#define PER_THREAD_FLAG      2u               /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */

/* CUDA_HOST_NODE_PARAMS */
struct host_params {
    void *function;
    void *data;
};

/* CUgraphNodeParams */
struct node_params {
    int type;
    int reserved[3];
    union {
        struct host_params host;
        long long members[29];
    };
    long long reserved2;
};
_Static_assert(sizeof(struct node_params) == 256, "as in cuda.h since 12.2");

/* The arguments of a call. */
struct arguments {
    uintptr_t a[6];
};

typedef int driver_call(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,
                        uintptr_t f);

static const struct host_call {
    const char *name;
    int before;
    enum host_call_form form;
    int argument;
    int node;
} rows[] = {
#define ROW(name, before, form, argument, node) {#name, before, form, argument, node},
    PRELOAD_HOST_CALLS(ROW)
#undef ROW
};

#define ROWS  (sizeof(rows) / sizeof(rows[0]))
#define SLOTS 80 /* the first ones are for linked programs, one a row */

static struct {
    void *_Atomic real;
    atomic_int row;
} slots[SLOTS];
static atomic_uint slots_taken = ROWS;

_Static_assert(ROWS < SLOTS, "room for functions that are looked up by name");

static bool marks_steps(const struct host_call *row)
{
    return row->form == HOST_CALL_WAITS || row->form == HOST_CALL_ASKS;
}

static int find_row(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (preload_is_named(rows[i].name, name))
            return (int)i;
    return -1;
}

/* The row behind this one, if its function has the same name and this suffix. */
static int next_row(int row, const char *suffix)
{
    size_t length = strlen(rows[row].name);
    const char *next = (size_t)row + 1 < ROWS ? rows[row + 1].name : "";

    return strncmp(next, rows[row].name, length) == 0 && strcmp(next + length, suffix) == 0
               ? row + 1
               : -1;
}

int preload_find_host_call(const char *name, int version, unsigned long flags)
{
    int row = find_row(name);

    if (row < 0 || !version)
        return row;
    if (rows[row].before && version >= rows[row].before)
        return next_row(row, "_v2");
    if ((flags & PER_THREAD_FLAG) && next_row(row, "_ptsz") >= 0)
        return row + 1;
    return row;
}

/* ---- Calls ---- */

static int call_real(void *real, const struct arguments *call)
{
    const uintptr_t *a = call->a;
    driver_call *function = NULL;

    *(void **)&function = real;
    return function ? function(a[0], a[1], a[2], a[3], a[4], a[5]) : CUDA_ERROR_NOT_FOUND;
}

/* Whether what is put into the stream becomes part of a graph. If the driver does not tell, it may.
 */
static bool may_be_captured(uintptr_t stream)
{
    static void *_Atomic known;
    int (*is_capturing)(uintptr_t stream, int *status) = NULL;
    void *found = atomic_load(&known);
    int status = 0;

    if (!found)
        atomic_store(&known, found = preload_find_in_driver("cuStreamIsCapturing"));
    *(void **)&is_capturing = found;
    return !found || is_capturing(stream, &status) != 0 || status != 0;
}

/* The legacy null stream cannot be captured, that of a thread can. */
static bool is_captured(const struct host_call *row, uintptr_t stream)
{
    if (stream)
        return may_be_captured(stream);
    return strstr(row->name, "_ptsz") && may_be_captured(STREAM_PER_THREAD);
}

static bool is_ours(const void *function)
{
    return function == (void *)host_record_run || function == (void *)host_record_call_back;
}

/* The place of the host function and its data in a call; NULL: it has none. */
static struct host_params *find_params(const struct host_call *row, const struct arguments *call)
{
    struct node_params *node;

    switch (row->form) {
    case HOST_CALL_PARAMS:
    case HOST_CALL_READ_PARAMS:
        return (struct host_params *)call->a[row->argument];
    case HOST_CALL_NODE:
    case HOST_CALL_READ_NODE:
        node = (struct node_params *)call->a[row->argument];
        return node && node->type == NODE_TYPE_HOST ? &node->host : NULL;
    case HOST_CALL_FUNCTION:
    case HOST_CALL_CALLBACK:
    case HOST_CALL_WAITS:
    case HOST_CALL_ASKS:
    default:
        return NULL;
    }
}

static int read_back(const struct host_call *row, void *real, const struct arguments *call)
{
    int result = call_real(real, call);
    struct host_params *params = result == 0 ? find_params(row, call) : NULL;

    if (!params || !is_ours(params->function))
        return result;
    const struct host_record *record = params->data;
    params->function = host_record_function(record);
    params->data = host_record_data(record);
    return result;
}

/* Whether the driver has refused the call. Other errors may be those of earlier asynchronous work:
 * then it may still run the function. */
static bool is_refusal(int result)
{
    switch (result) {
    case 1:   /* CUDA_ERROR_INVALID_VALUE */
    case 3:   /* CUDA_ERROR_NOT_INITIALIZED */
    case 4:   /* CUDA_ERROR_DEINITIALIZED */
    case 201: /* CUDA_ERROR_INVALID_CONTEXT */
    case 400: /* CUDA_ERROR_INVALID_HANDLE */
    case CUDA_ERROR_NOT_FOUND:
    case 801: /* CUDA_ERROR_NOT_SUPPORTED */
        return true;
    default:
        return result >= 900 && result <= 908; /* CUDA_ERROR_STREAM_CAPTURE_* */
    }
}

/* The call with the record instead of the program's function. */
static int pass_on(void *real, const struct arguments *call, struct host_record *record)
{
    host_record_launching(record);
    int result = call_real(real, call);
    host_record_launching(NULL);
    if (is_refusal(result))
        host_record_drop(record);
    return result;
}

static int launch(const struct host_call *row, void *real, struct arguments call)
{
    bool callback = row->form == HOST_CALL_CALLBACK;
    uintptr_t *function = &call.a[row->argument];
    uintptr_t *data = function + 1;
    struct host_record *record = NULL;

    if (*function && !is_ours((void *)*function))
        record = host_record_new((void *)*function, (void *)*data,
                                 !callback && is_captured(row, call.a[0]));
    if (!record)
        return call_real(real, &call);
    *function = callback ? (uintptr_t)host_record_call_back : (uintptr_t)host_record_run;
    *data = (uintptr_t)record;
    return pass_on(real, &call, record);
}

/* The program's struct stays as it is: the call gets a copy. */
static int set_params(const struct host_call *row, void *real, struct arguments call)
{
    const struct host_params *theirs = find_params(row, &call);
    struct host_record *record = NULL;
    struct node_params node;

    if (theirs && theirs->function && !is_ours(theirs->function))
        record = host_record_new(theirs->function, theirs->data, true);
    if (!record)
        return call_real(real, &call);
    if (row->node >= 0)
        host_record_replaces(record, call.a[row->node]);
    struct host_params ours = (struct host_params){(void *)host_record_run, record};
    if (row->form == HOST_CALL_NODE) {
        memcpy(&node, (const void *)call.a[row->argument], sizeof(node));
        node.host = ours;
        call.a[row->argument] = (uintptr_t)&node;
    } else {
        call.a[row->argument] = (uintptr_t)&ours;
    }
    return pass_on(real, &call, record);
}

static void *find_real(unsigned slot)
{
    void *real = atomic_load(&slots[slot].real);

    if (!real && slot < ROWS) {
        real = preload_find_next(rows[slot].name);
        atomic_store(&slots[slot].real, real);
    }
    return real;
}

/* Those of the recorder and of CUPTI are no steps of the program. */
static int await(const struct host_call *row, void *real, const struct arguments *call,
                 const void *caller)
{
    int result = call_real(real, call);

    if (waits_left_alone(caller))
        return result;
    if (row->form == HOST_CALL_ASKS)
        steps_asked(result == CUDA_SUCCESS);
    else if (result == CUDA_SUCCESS)
        steps_put(STEPS_WAIT, 0, 0);
    return result;
}

static int take_call(unsigned slot, struct arguments call, const void *caller)
{
    const struct host_call *row = &rows[slot < ROWS ? (int)slot : atomic_load(&slots[slot].row)];
    void *real = find_real(slot);

    if (marks_steps(row))
        return await(row, real, &call, caller);
    if (row->form == HOST_CALL_READ_PARAMS || row->form == HOST_CALL_READ_NODE)
        return read_back(row, real, &call);
    if (!atomic_load(&miniprof_preload.host_function))
        return call_real(real, &call);
    return row->form == HOST_CALL_FUNCTION || row->form == HOST_CALL_CALLBACK
               ? launch(row, real, call)
               : set_params(row, real, call);
}

/* ---- One function for each slot ---- */

#define DEFINE(n)                                                                                  \
    static int host_call_##n(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,      \
                             uintptr_t f)                                                          \
    {                                                                                              \
        return take_call(n, (struct arguments){{a, b, c, d, e, f}}, CALLER);                       \
    }
#define TEN(X, t) X(t##0) X(t##1) X(t##2) X(t##3) X(t##4) X(t##5) X(t##6) X(t##7) X(t##8) X(t##9)
#define ALL(X)    TEN(X, ) TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5) TEN(X, 6) TEN(X, 7)

ALL(DEFINE)

static driver_call *const functions[SLOTS] = {
#define POINTER(n) host_call_##n,
    ALL(POINTER)
#undef POINTER
};

/* For programs that are linked to the driver. */
#define LINKED(name, before, form, argument, node) ROW_##name,
enum linked { PRELOAD_HOST_CALLS(LINKED) };
#undef LINKED
#define LINKED(name, before, form, argument, node)                                                 \
    SHOWN int name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f);  \
    int name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f)         \
    {                                                                                              \
        return take_call(ROW_##name, (struct arguments){{a, b, c, d, e, f}}, CALLER);              \
    }
PRELOAD_HOST_CALLS(LINKED)
#undef LINKED

static void *const linked[] = {
#define LINKED(name, before, form, argument, node) (void *)name,
    PRELOAD_HOST_CALLS(LINKED)
#undef LINKED
};

static bool is_ours_already(const void *real)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (real == (void *)functions[i])
            return true;
    for (size_t i = 0; i < ROWS; i++)
        if (real == linked[i])
            return true;
    return false;
}

void *preload_host_call_for(int row, void *real)
{
    unsigned count = atomic_load(&slots_taken);

    if (is_ours_already(real) || (marks_steps(&rows[row]) && !steps_are_wanted()))
        return real;
    for (unsigned slot = ROWS; slot < count; slot++)
        if (atomic_load(&slots[slot].real) == real)
            return (void *)functions[slot];
    do {
        if (count >= SLOTS)
            return real;
    } while (!atomic_compare_exchange_weak(&slots_taken, &count, count + 1));
    atomic_store(&slots[count].row, row);
    atomic_store(&slots[count].real, real);
    return (void *)functions[count];
}
