/* What the callbacks record, thread by thread, on its way to the writer.
 *
 * Each application thread that makes a watched call owns a log: a ring. Only the owner puts entries
 * in and only the writer takes them out, so neither waits for the other. The list of logs has a
 * lock. A thread takes it at its first call, the writer when it walks the list; nobody calls CUPTI
 * while holding it.
 *
 * A log outlives its thread: the destructor of the thread-specific key marks the log as ended, and
 * the writer frees it once it is empty.
 *
 * When a ring is full, further entries are lost and counted. The thread wakes the writer when its
 * ring is half full. One thread can make 700,000 synchronise calls a second, which fill the other
 * half in 3 ms.
 */
#ifndef MP_RECORD_CORE_CALL_LOG_H
#define MP_RECORD_CORE_CALL_LOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* ---- How the kernel divided the time ----
 *
 * How the kernel divided a thread's time between two calls: computing, ready but not running, or
 * blocked.
 *
 * Asking the kernel takes a system call, 0.2 to 0.7 us, so it is done only where that does not
 * matter: at the begin of a call that comes HOST_TIME_GAP after the one before it, and at the end
 * of a call if the last time was HOST_TIME_FRESH ago. What lies between two askings is a stretch.
 * It may hold short calls as well as the gap; if the gap is not at least half of it, the stretch is
 * dropped.
 *
 * How long the thread was ready takes three more system calls, 8 us. They are made only for
 * stretches, and after calls, of HOST_TIME_LONG or more, and after as much time in which the thread
 * was not running. Up to then it may have been ready before the stretch, and as much is not
 * counted.
 *
 * Owned by the thread whose time it is.
 */

#define HOST_TIME_GAP   UINT64_C(50000) /* ns */
#define HOST_TIME_FRESH UINT64_C(200000)
#define HOST_TIME_LONG  UINT64_C(2000000)

/* What the kernel is asked about the calling thread. Tests answer in its place. */
struct host_kernel {
    uint64_t (*running)(void);      /* ns on a processor, ever */
    bool (*ready)(uint64_t *ready); /* ns ready without one, ever; false: it does not say */
};

struct host_time {
    const struct host_kernel *kernel; /* NULL: the kernel itself */
    uint64_t asked;                   /* when the kernel was asked last; 0: never */
    uint64_t left;                    /* when the last call ended */
    uint64_t running;                 /* ns on a processor up to then, */
    uint64_t ready;                   /* and ready without one, when that was asked last: */
    uint64_t ready_at;
    uint64_t ready_running; /* `running` then */
    bool ready_known;
};

/* Times in ns. The rest of the stretch the thread was blocked. */
struct host_stretch {
    uint64_t begin;
    uint64_t end;
    uint64_t computing;
    uint64_t ready; /* at least; 0 for stretches shorter than HOST_TIME_LONG */
};

/* The thread enters a call at `now`. Whether a stretch ends here. */
bool host_time_enter(struct host_time *time, uint64_t now, struct host_stretch *stretch);

/* It leaves the call. */
void host_time_leave(struct host_time *time, uint64_t now);

/* ---- Logs ---- */

#define CALL_LOG_ENTRIES 4096u /* a power of two; 192 KiB, touched as it fills */
#define CALL_LOG_THREADS 1024u /* logs that exist at once; further threads are counted as lost */
#define CALL_LOG_STREAMS 8u    /* streams whose ids a thread remembers */

enum call_entry_kind {
    CALL_ENTRY_SYNC, /* a row of `sync`: detail is its sync_kind */
    CALL_ENTRY_CALL, /* a row of `call`: detail is its api */
    /* Of rows/host_rows.h: */
    CALL_ENTRY_HOST_FUNCTION, /* ran in a stream: event is its address */
    CALL_ENTRY_HOST_NODE,     /* ran in a graph: context and stream are the halves of a node's id */
    CALL_ENTRY_GRAPH_LAUNCH,  /* event is CUPTI's id of the executable graph */
    CALL_ENTRY_STEP,          /* a row of `step`: event is its name, detail: it is recorded */
    CALL_ENTRY_HOST_TIME, /* a row of `host_time`: event is computing; context and stream: ready */
    CALL_ENTRY_VALUE      /* a row of `stream_value`: event is the address, end the value, detail
                             its value_operation, cbid its bits */
};

struct call_entry {
    uint64_t start;
    uint64_t end;
    uint64_t event; /* CUDA's handle, 0 if none */
    uint32_t correlation;
    uint32_t context; /* CUPTI's id */
    uint32_t stream;  /* CUPTI's id, UINT32_MAX if none */
    uint32_t result;
    uint32_t answers; /* clients_answers when it was put: of calls only */
    uint16_t cbid;
    uint8_t kind;
    uint8_t detail;
};

/* A stream's id as CUPTI gave it, so that the thread need not ask CUPTI at every call. */
struct stream_memo {
    const void *context, *stream;
    uint32_t id;
    uint32_t epoch; /* as in call_logs.epoch when it was asked */
    bool per_thread;
};

/* A polling loop: queries of one handle that all returned "not ready", with no other watched call
 * between them. */
struct polling {
    uint64_t start; /* of the first, 0 if there is none */
    uint64_t handle;
    uint32_t context; /* CUPTI's id */
    uint32_t cbid;    /* the function asked */
};

struct gap_thread;
struct graph_making;
struct stack_thread;

struct call_log {
    /* The owning thread's. */
    struct stream_memo memos[CALL_LOG_STREAMS];
    uint32_t tid;
    bool in_graph_launch;    /* the thread is in cuGraphLaunch, as the gate of baseline.h knows */
    bool in_runtime;         /* the thread is in a runtime call that is recorded by callbacks */
    uint32_t leaving_stream; /* id of the stream that the present cuStreamDestroy destroys */
    bool busy;               /* the thread is in a call that the recorder makes */
    bool has_profiler_lock;  /* the thread is in a launch (profiling.h) */
    bool begins_capture;     /* it is in a call that begins a stream capture */
    uint32_t inner_launches; /* launches nested in the launch that holds the profiler lock */
    bool asking;             /* it is in a call made only for its correlation id */
    uint32_t correlation;    /* that id */
    struct polling polling;
    struct host_time time;
    struct graph_making *making; /* the graph that is being instantiated (graphs.c), or NULL */
    struct stack_thread *stacks; /* stacks.c's, mapped; NULL: none yet */
    size_t stacks_bytes;
    struct gap_thread *gaps; /* gaps.c's; NULL: not known yet */
    /* Shared. */
    _Atomic uint32_t head; /* entries ever put; by the owner */
    _Atomic uint32_t tail; /* entries ever taken; by the writer */
    _Atomic uint64_t lost; /* by the owner */
    _Atomic bool ended;    /* the thread is gone; by its destructor */
    struct call_log *next; /* under the list's lock */
    struct call_entry entries[CALL_LOG_ENTRIES];
};

/* The last calls inside of which the recorder itself called the driver: their correlation ids,
 * which the records of the recorder's own calls have too. */
#define OWN_CALLS 1024u

struct own_calls {
    pthread_mutex_t lock;
    uint32_t ids[OWN_CALLS]; /* a ring */
    uint32_t count;          /* ever noted */
};

struct call_logs {
    pthread_mutex_t lock; /* of `first`, `count` and all `next` */
    struct call_log *first;
    uint32_t count;
    pthread_key_t key; /* the calling thread's log */
    bool open;
    _Atomic uint32_t epoch; /* raised when a stream comes or goes: its handle may be used again */
    _Atomic uint64_t lost;  /* entries of threads without a log, and of logs that were freed */
    struct own_calls own;
};

enum mp_status call_logs_open(struct call_logs *logs);

/* The calling thread's log, made at its first call; NULL when there is none to have. */
struct call_log *call_log_mine(struct call_logs *logs);

/* Puts an entry. True when the ring has just become half full, so that the writer should be woken.
 * The owner only. */
bool call_log_put(struct call_log *log, const struct call_entry *entry);

/* Hands every entry of every log to `use`, in order within a log. The writer only. */
typedef void call_log_use(void *context, uint32_t tid, const struct call_entry *entry);
void call_logs_drain(struct call_logs *logs, call_log_use *use, void *context);

/* The recorder is about to call the driver inside of the call with this correlation id. Any thread.
 */
void own_calls_note(struct own_calls *own, uint32_t correlation);

/* Whether own_calls_note noted that id, and not too long ago. Any thread. */
bool own_calls_has(struct own_calls *own, uint32_t correlation);

/* Entries lost up to now. */
uint64_t call_logs_lost(struct call_logs *logs);

#endif
