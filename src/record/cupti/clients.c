/* The state machine of clients.h. No function of CUPTI tells who has its buffers. So the calls that
 * should have records are compared with how often CUPTI calls us.
 */
#include "record/cupti/clients.h"

#include "base/log.h"
#include "base/settings/time_limits.h"
#include "record/core/call_log.h"
#include "record/core/state.h"
#include "record/cupti/client_name.h"

#include "base/poison.h"

/* ---- Noticing ---- */

/* The probe. True when CUPTI asks us for a buffer for the records, or cannot be asked for them.
 * Otherwise the other client gets a buffer with these records, so it has something to flush at its
 * end. Only then does it set the attribute. For the same reason CUPTI is not flushed while it is
 * taken. */
static bool probe(struct recorder *recorder)
{
    const struct cupti_api *cupti = &recorder->cupti;
    uint64_t before = clients_answers(recorder);

    if (cupti->enable_and_dump(CUPTI_ACTIVITY_KIND_DEVICE) != CUPTI_SUCCESS ||
        clients_answers(recorder) != before)
        return true;
    cupti->flush_all(0);
    if (clients_answers(recorder) != before)
        return true;
    cupti->enable_and_dump(CUPTI_ACTIVITY_KIND_DEVICE);
    return false;
}

static bool can_probe(const struct recorder *recorder)
{
    return recorder->cupti.enable_and_dump && atomic_load(&recorder->cuda.context_made) &&
           !atomic_load(&recorder->ending.forced_exits);
}

/* No callback tells of calls, so silence is all that there is to see. */
static bool is_blind(const struct recorder *recorder)
{
    return atomic_load(&recorder->cupti_state.callbacks_taken);
}

/* Whether CUPTI's record of the call was to come. Callbacks log the calls that begin after
 * calls_end. Where they log all calls it is not set: UINT64_MAX. */
static bool awaits_record(struct recorder *recorder, const struct call_entry *entry)
{
    uint64_t end = atomic_load(&recorder->recording.decoder.calls_end);

    return !atomic_load(&recorder->cupti_state.calls_by_callback) ||
           (end != UINT64_MAX && entry->start < end);
}

void clients_note(struct recorder *recorder, const struct call_entry *entry)
{
    struct clients *clients = &recorder->clients;
    uint64_t renewed_at = atomic_load(&recorder->cupti_state.renewed_at);
    /* Once everything is registered again, CUPTI answers only calls that are made from then on. */
    bool before = entry->start < atomic_load(&recorder->cupti_state.registered_at);
    uint64_t answers =
        before ? atomic_load(&recorder->cupti_state.answers_before) : clients_answers(recorder);
    bool launch = entry->kind == CALL_ENTRY_CALL &&
                  api_set_launches(&recorder->api, entry->detail, entry->cbid) &&
                  recorder->config.gpu == MP_SWITCH_ON && entry->result == CUDA_SUCCESS;
    bool sync = entry->kind == CALL_ENTRY_SYNC && awaits_record(recorder, entry);

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
static void say_taken(struct recorder *recorder)
{
    struct clients *clients = &recorder->clients;
    struct client other;

    if (clients->said)
        return;
    clients->said = true;
    client_find(&other);
    mp_log_warn("another CUPTI client%s%s has taken CUPTI over: what the GPU does is not recorded "
                "%s (run without it)",
                *other.name ? ", probably " : "", other.name,
                recorder->cupti_state.buffers_told ? "until it has finished" : "from here on");
}

/* Counts one takeover: without callbacks the lost calls cannot be counted. */
static void lose_unseen(struct recorder *recorder)
{
    if (is_blind(recorder) && !atomic_load(&recorder->clients.taken))
        atomic_fetch_add(&recorder->clients.lost, 1);
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
static bool become_taken(struct recorder *recorder)
{
    struct clients *clients = &recorder->clients;
    struct client_calls calls = noted(clients);

    if (!recorder->jobs.switch_alone(recorder, activity_follow_calls))
        return false;
    clients->lost_before = atomic_load(&clients->lost);
    lose(clients, calls);
    lose_unseen(recorder);
    atomic_store(&clients->taken, true);
    say_taken(recorder);
    return true;
}

/* CUPTI was only slow, and nothing was lost. */
static void become_ours(struct clients *clients)
{
    atomic_store(&clients->taken, false);
    atomic_store(&clients->lost, clients->lost_before);
    mp_log_info("CUPTI delivers its buffers again");
}

static void lose_late(struct recorder *recorder)
{
    uint64_t late = atomic_exchange(&recorder->clients.late, 0);

    if (!late)
        return;
    atomic_fetch_add(&recorder->clients.lost, late);
    say_taken(recorder);
}

/* A range has begun, for which activity_enable registered everything again. If nothing has come
 * since the last look, the calls that waited for records until then are lost. */
static void notice_renewal(struct recorder *recorder, int64_t now)
{
    struct clients *clients = &recorder->clients;
    uint64_t renewed_at = atomic_load(&recorder->cupti_state.renewed_at);
    struct client_calls before;

    lose_late(recorder);
    if (renewed_at == clients->renewed_at)
        return;
    clients->renewed_at = renewed_at;
    before = noted_before(clients, renewed_at);
    if (atomic_load(&clients->taken)) {
        lose(clients, before);
    } else if (before.all > clients->seen.all &&
               atomic_load(&recorder->cupti_state.answers_then) == clients->answers) {
        lose(clients, before);
        say_taken(recorder);
    }
    atomic_store(&clients->taken, false);
    clients->since = now;
}

static void take_back(struct recorder *recorder)
{
    struct clients *clients = &recorder->clients;

    lose(clients, noted(clients));
    lose_unseen(recorder);
    say_taken(recorder);
    if (!recorder->jobs.switch_alone(recorder, activity_renew))
        return; /* tried again at the next look */
    atomic_store(&clients->taken, false);
    mp_log_info("the other CUPTI client has finished: recording continues");
}

/* Decides without a working probe. Enough evidence: launches without any record, although all was
 * flushed, and none of them made during a capture. */
static bool is_taken(struct recorder *recorder, bool at_end)
{
    struct clients *clients = &recorder->clients;

    if (!can_probe(recorder) || (clients->tried && !clients->probe_works))
        return false;
    if (!clients->probe_works && !at_end &&
        (atomic_load(&clients->launches) == clients->seen.launches ||
         atomic_load(&recorder->cuda.ever_captured)))
        return false;
    return !probe(recorder);
}

bool clients_hold(struct recorder *recorder, uint64_t before)
{
    if (atomic_load(&recorder->clients.taken) || activity_other_has_left(recorder))
        return false;
    if (recorder->clients.probe_works && can_probe(recorder))
        return probe(recorder);
    return clients_answers(recorder) != before;
}

static void try_probe(struct recorder *recorder)
{
    struct clients *clients = &recorder->clients;

    if (!can_probe(recorder) || atomic_exchange(&clients->tried, true))
        return;
    clients->probe_works = probe(recorder);
    if (clients->probe_works) /* it must work a second time too */
        clients->probe_works = probe(recorder);
    if (!clients->probe_works)
        mp_log_debug("CUPTI does not answer at once: other CUPTI clients cannot be noticed");
}

/* Prints what the switching threads noticed. CUPTI does not let us read the other client's buffer
 * callbacks, so we cannot give its records back. */
static void say_unseen(struct recorder *recorder)
{
    struct client other;

    if (!is_blind(recorder) || recorder->clients.said)
        return;
    if (atomic_load(&recorder->clients.lost))
        say_taken(recorder);
    if (!atomic_load(&recorder->clients.foreign) || recorder->clients.said)
        return;
    recorder->clients.said = true;
    client_find(&other);
    mp_log_warn("a session of another CUPTI client%s%s was under way where a range began, "
                "and loses its records (end the session before the range)",
                *other.name ? ", probably " : "", other.name);
}

/* Switches off the kinds of a range in which CUPTI did not call us, once it does call us. */
static void drop_left_on(struct recorder *recorder)
{
    if (atomic_load(&recorder->cupti_state.left_on) &&
        clients_answers(recorder) != atomic_load(&recorder->cupti_state.answers_then))
        recorder->jobs.switch_alone(recorder, activity_drop);
}

/* True when CUPTI has called us since the last look, or will again. */
static bool is_answered(struct recorder *recorder)
{
    struct clients *clients = &recorder->clients;

    if (clients_answers(recorder) != clients->answers) {
        if (is_blind(recorder) && !atomic_load(&recorder->cupti_state.enabled))
            return true;
        if (atomic_load(&clients->taken))
            become_ours(clients);
        else
            try_probe(recorder);
        return true;
    }
    if (!atomic_load(&recorder->cupti_state.enabled) || !activity_other_has_left(recorder))
        return false;
    take_back(recorder);
    return true;
}

/* Whether something is to come of CUPTI, as far as that is known. */
static bool waits(const struct recorder *recorder)
{
    if (is_blind(recorder))
        return atomic_load(&recorder->cupti_state.enabled);
    return atomic_load(&recorder->clients.all) != recorder->clients.seen.all;
}

void clients_look(struct recorder *recorder, int64_t now)
{
    struct clients *clients = &recorder->clients;

    drop_left_on(recorder);
    say_unseen(recorder);
    notice_renewal(recorder, now);
    if (!clients->since)
        clients->since = now;
    if (!is_answered(recorder)) {
        if (atomic_load(&clients->taken)) {
            lose(clients, noted(clients));
            return;
        }
        if (!waits(recorder) || now - clients->since < mp_time_limit_ms(MP_TIME_CLIENT_QUIET))
            return;
        if (is_taken(recorder, false) && !become_taken(recorder)) {
            clients->since = now; /* no probe at once: the other client sees each */
            return;
        }
    }
    clients->answers = clients_answers(recorder);
    clients->seen = noted(clients);
    clients->since = now;
}

void clients_end(struct recorder *recorder)
{
    struct clients *clients = &recorder->clients;

    say_unseen(recorder);
    notice_renewal(recorder, clients->since);
    if (atomic_load(&clients->taken)) {
        lose(clients, noted(clients));
    } else if (waits(recorder) && clients_answers(recorder) == clients->answers &&
               (activity_other_has_left(recorder) || is_taken(recorder, true))) {
        lose(clients, noted(clients));
        lose_unseen(recorder);
        say_taken(recorder);
    }
}

/* ---- Without callbacks ---- */

static bool have_taken(struct recorder *recorder)
{
    return recorder->clients.probe_works && can_probe(recorder) && !probe(recorder);
}

void clients_arrive(struct recorder *recorder)
{
    recorder->cupti.flush_all(0); /* another's buffers, which no record of ours is to get into */
    try_probe(recorder);
}

bool clients_enter(struct recorder *recorder)
{
    bool left = activity_other_has_left(recorder);

    if (!is_blind(recorder))
        return left;
    left |= have_taken(recorder);
    atomic_store(&recorder->clients.taken, false);
    return left;
}

bool clients_leave(struct recorder *recorder)
{
    bool taken;

    if (!is_blind(recorder))
        return false;
    taken = have_taken(recorder);
    if (taken || activity_other_has_left(recorder))
        lose_unseen(recorder);
    if (taken)
        atomic_store(&recorder->clients.taken, true);
    return taken;
}
