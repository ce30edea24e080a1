/* The state machine of clients.h. No function of CUPTI tells who has its buffers. So the calls that
 * should have records are compared with how often CUPTI calls us.
 */
#include "record/cupti/clients.h"

#include "base/log.h"
#include "base/settings/config.h"
#include "record/core/call_log.h"
#include "record/cupti/gpu.h"
#include "record/cupti/subscriber.h"

#include "base/poison.h"

/* ---- Noticing ---- */

/* The probe. True when CUPTI asks us for a buffer for the records, or cannot be asked for them.
 * Otherwise the other client gets a buffer with these records, so it has something to flush at its
 * end. Only then does it set the attribute. For the same reason CUPTI is not flushed while it is
 * taken. */
static bool probe(struct gpu *gpu)
{
    const struct cupti_api *cupti = &gpu->cupti;
    uint64_t before = clients_answers(gpu);

    if (cupti->enable_and_dump(CUPTI_ACTIVITY_KIND_DEVICE) != CUPTI_SUCCESS ||
        clients_answers(gpu) != before)
        return true;
    cupti->flush_all(0);
    if (clients_answers(gpu) != before)
        return true;
    cupti->enable_and_dump(CUPTI_ACTIVITY_KIND_DEVICE);
    return false;
}

static bool can_probe(const struct gpu *gpu)
{
    return gpu->cupti.enable_and_dump && atomic_load(&gpu->cuda.context_made) &&
           !atomic_load(&gpu->cupti_state.forced_exits);
}

/* No callback tells of calls, so silence is all that there is to see. */
static bool is_blind(const struct gpu *gpu)
{
    return atomic_load(&gpu->cupti_state.callbacks_taken);
}

/* Whether CUPTI's record of the call was to come. Callbacks log the calls that begin after
 * calls_end. Where they log all calls it is 0. */
static bool awaits_record(struct gpu *gpu, const struct call_entry *entry)
{
    uint64_t end = atomic_load(&gpu->cupti_state.calls_end);

    return !atomic_load(&gpu->cupti_state.calls_by_callback) || entry->start < end;
}

void clients_note(struct gpu *gpu, const struct call_entry *entry)
{
    struct clients *clients = &gpu->clients;
    uint64_t renewed_at = atomic_load(&gpu->cupti_state.renewed_at);
    /* Once everything is registered again, CUPTI answers only calls that are made from then on. */
    bool before = entry->start < atomic_load(&gpu->cupti_state.registered_at);
    uint64_t answers =
        before ? atomic_load(&gpu->cupti_state.answers_before) : clients_answers(gpu);
    bool launch = entry->kind == CALL_ENTRY_CALL &&
                  api_set_launches(&gpu->api, entry->detail, entry->cbid) &&
                  gpu->core.config.gpu == MP_SWITCH_ON && entry->result == CUDA_SUCCESS;
    bool sync = entry->kind == CALL_ENTRY_SYNC && awaits_record(gpu, entry);

    if ((!launch && !sync) || entry->answers != (uint32_t)answers)
        return;
    if (before) {
        atomic_fetch_add(&clients->late, 1);
        return;
    }
    if (atomic_load(&clients->renewal) != renewed_at && entry->start >= renewed_at) {
        atomic_store(&clients->all_before, atomic_load(&clients->all));
        atomic_store(&clients->launches_before, atomic_load(&clients->launches));
        atomic_store(&clients->renewal, renewed_at);
    }
    atomic_fetch_add(&clients->launches, launch);
    atomic_fetch_add(&clients->all, 1);
}

/* The calls noted so far. */
static struct client_calls noted(const struct clients *clients)
{
    return (struct client_calls){.all = atomic_load(&clients->all),
                                 .launches = atomic_load(&clients->launches)};
}

/* The calls noted before a range began for which everything was registered again. */
static struct client_calls noted_before(const struct clients *clients, uint64_t renewed_at)
{
    if (atomic_load(&clients->renewal) != renewed_at)
        return noted(clients);
    return (struct client_calls){.all = atomic_load(&clients->all_before),
                                 .launches = atomic_load(&clients->launches_before)};
}

/* ---- What is done about it ---- */

/* If CUPTI has no PER_THREAD_ACTIVITY_BUFFER, nothing shows when the other client has finished. */
static void say_taken(struct gpu *gpu)
{
    struct clients *clients = &gpu->clients;
    struct client other;

    if (clients->said)
        return;
    clients->said = true;
    client_find(&other);
    mp_log_warn("another CUPTI client%s%s has taken CUPTI over: what the GPU does is not recorded "
                "%s (run without it)",
                *other.name ? ", probably " : "", other.name,
                gpu->cupti_state.buffers_readable ? "until it has finished" : "from here on");
}

/* Counts one takeover: without callbacks the lost calls cannot be counted. */
static void lose_unseen(struct gpu *gpu)
{
    if (is_blind(gpu) && !atomic_load(&gpu->clients.taken))
        atomic_fetch_add(&gpu->clients.lost, 1);
}

/* Counts as lost the calls noted up to `calls` and not answered yet. Once CUPTI is known to be
 * taken, launches count instead: callbacks log the calls themselves. */
static void lose(struct clients *clients, struct client_calls calls)
{
    atomic_fetch_add(&clients->lost, atomic_load(&clients->taken)
                                         ? calls.launches - clients->seen.launches
                                         : calls.all - clients->seen.all);
    clients->seen = calls;
}

/* Answers false when that is not possible now, since another thread switches for too long. */
static bool become_taken(struct gpu *gpu, gpu_switch_alone *alone)
{
    struct clients *clients = &gpu->clients;
    struct client_calls calls = noted(clients);

    if (!alone(gpu, activity_follow_calls))
        return false;
    clients->lost_before = atomic_load(&clients->lost);
    lose(clients, calls);
    lose_unseen(gpu);
    atomic_store(&clients->taken, true);
    say_taken(gpu);
    return true;
}

/* CUPTI was only slow, and nothing was lost. */
static void become_ours(struct clients *clients)
{
    atomic_store(&clients->taken, false);
    atomic_store(&clients->lost, clients->lost_before);
    mp_log_info("CUPTI delivers its buffers again");
}

static void lose_late(struct gpu *gpu)
{
    uint64_t late = atomic_exchange(&gpu->clients.late, 0);

    if (!late)
        return;
    atomic_fetch_add(&gpu->clients.lost, late);
    say_taken(gpu);
}

/* A range has begun, for which activity_enable registered everything again. If nothing has come
 * since the last look, the calls that waited for records until then are lost. */
static void notice_renewal(struct gpu *gpu, int64_t now)
{
    struct clients *clients = &gpu->clients;
    uint64_t renewed_at = atomic_load(&gpu->cupti_state.renewed_at);

    lose_late(gpu);
    if (renewed_at == clients->renewed_at)
        return;
    clients->renewed_at = renewed_at;
    struct client_calls before = noted_before(clients, renewed_at);
    if (atomic_load(&clients->taken)) {
        lose(clients, before);
    } else if (before.all > clients->seen.all &&
               atomic_load(&gpu->cupti_state.answers_then) == clients->answers) {
        lose(clients, before);
        say_taken(gpu);
    }
    atomic_store(&clients->taken, false);
    clients->since = now;
}

static void take_back(struct gpu *gpu, gpu_switch_alone *alone)
{
    struct clients *clients = &gpu->clients;

    lose(clients, noted(clients));
    lose_unseen(gpu);
    say_taken(gpu);
    if (!alone(gpu, activity_enable_again))
        return; /* tried again at the next look */
    atomic_store(&clients->taken, false);
    mp_log_info("the other CUPTI client has finished: recording continues");
}

/* Decides without a working probe. Enough evidence: launches without any record, although all was
 * flushed, and none of them made during a capture. */
static bool is_taken(struct gpu *gpu, bool at_end)
{
    struct clients *clients = &gpu->clients;

    if (!can_probe(gpu) || (clients->tried && !clients->probe_works))
        return false;
    if (!clients->probe_works && !at_end &&
        (atomic_load(&clients->launches) == clients->seen.launches ||
         atomic_load(&gpu->cuda.ever_captured)))
        return false;
    return !probe(gpu);
}

bool clients_hold(struct gpu *gpu, uint64_t before)
{
    if (atomic_load(&gpu->clients.taken) || activity_other_has_left(gpu))
        return false;
    if (gpu->clients.probe_works && can_probe(gpu))
        return probe(gpu);
    return clients_answers(gpu) != before;
}

static void try_probe(struct gpu *gpu)
{
    struct clients *clients = &gpu->clients;

    if (!can_probe(gpu) || atomic_exchange(&clients->tried, true))
        return;
    clients->probe_works = probe(gpu);
    if (clients->probe_works) /* it must work a second time too */
        clients->probe_works = probe(gpu);
    if (!clients->probe_works)
        mp_log_debug("CUPTI does not answer at once: other CUPTI clients cannot be noticed");
}

/* Prints what the switching threads noticed. CUPTI does not let us read the other client's buffer
 * callbacks, so we cannot give its records back. */
static void say_unseen(struct gpu *gpu)
{
    struct client other;

    if (!is_blind(gpu) || gpu->clients.said)
        return;
    if (atomic_load(&gpu->clients.lost))
        say_taken(gpu);
    if (!atomic_load(&gpu->clients.foreign) || gpu->clients.said)
        return;
    gpu->clients.said = true;
    client_find(&other);
    mp_log_warn("a session of another CUPTI client%s%s was under way where a range began, "
                "and loses its records (end the session before the range)",
                *other.name ? ", probably " : "", other.name);
}

/* Switches off the kinds of a range in which CUPTI did not call us, once it does call us. */
static void drop_left_on(struct gpu *gpu, gpu_switch_alone *alone)
{
    if (atomic_load(&gpu->cupti_state.left_on) &&
        clients_answers(gpu) != atomic_load(&gpu->cupti_state.answers_then))
        alone(gpu, activity_drop);
}

/* True when CUPTI has called us since the last look, or will again. */
static bool is_answered(struct gpu *gpu, gpu_switch_alone *alone)
{
    struct clients *clients = &gpu->clients;

    if (clients_answers(gpu) != clients->answers) {
        if (is_blind(gpu) && !atomic_load(&gpu->core.enabled))
            return true;
        if (atomic_load(&clients->taken))
            become_ours(clients);
        else
            try_probe(gpu);
        return true;
    }
    if (!atomic_load(&gpu->core.enabled) || !activity_other_has_left(gpu))
        return false;
    take_back(gpu, alone);
    return true;
}

/* Whether something is known to come of CUPTI. */
static bool waits(const struct gpu *gpu)
{
    if (is_blind(gpu))
        return atomic_load(&gpu->core.enabled);
    return atomic_load(&gpu->clients.all) != gpu->clients.seen.all;
}

void clients_look(struct gpu *gpu, int64_t now, gpu_switch_alone *alone)
{
    struct clients *clients = &gpu->clients;

    drop_left_on(gpu, alone);
    say_unseen(gpu);
    notice_renewal(gpu, now);
    if (!clients->since)
        clients->since = now;
    if (!is_answered(gpu, alone)) {
        if (atomic_load(&clients->taken)) {
            lose(clients, noted(clients));
            return;
        }
        if (!waits(gpu) || now - clients->since < mp_time_limit_ms(MP_TIME_CLIENT_QUIET))
            return;
        if (is_taken(gpu, false) && !become_taken(gpu, alone)) {
            clients->since = now; /* no probe at once: the other client sees each */
            return;
        }
    }
    clients->answers = clients_answers(gpu);
    clients->seen = noted(clients);
    clients->since = now;
}

void clients_end(struct gpu *gpu)
{
    struct clients *clients = &gpu->clients;

    say_unseen(gpu);
    notice_renewal(gpu, clients->since);
    if (atomic_load(&clients->taken)) {
        lose(clients, noted(clients));
    } else if (waits(gpu) && clients_answers(gpu) == clients->answers &&
               (activity_other_has_left(gpu) || is_taken(gpu, true))) {
        lose(clients, noted(clients));
        lose_unseen(gpu);
        say_taken(gpu);
    }
}

/* ---- Without callbacks ---- */

static bool have_taken(struct gpu *gpu)
{
    return gpu->clients.probe_works && can_probe(gpu) && !probe(gpu);
}

void clients_arrive(struct gpu *gpu)
{
    gpu->cupti.flush_all(0); /* another's buffers, which no record of ours is to get into */
    try_probe(gpu);
}

bool clients_enter(struct gpu *gpu)
{
    bool left = activity_other_has_left(gpu);

    if (!is_blind(gpu))
        return left;
    left |= have_taken(gpu);
    atomic_store(&gpu->clients.taken, false);
    return left;
}

bool clients_leave(struct gpu *gpu)
{
    if (!is_blind(gpu))
        return false;
    bool taken = have_taken(gpu);
    if (taken || activity_other_has_left(gpu))
        lose_unseen(gpu);
    if (taken)
        atomic_store(&gpu->clients.taken, true);
    return taken;
}
