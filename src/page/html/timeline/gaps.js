// Why nothing ran on a GPU: its idle gaps, piece by piece, by what the thread did that launched the
// work at the gap's end. The rule is that of `miniprof iters` (src/reports/iterations/idle.c).

const IDLE_CAUSES = [
    ["idle_launch", "work is being launched", "--idle-launch"],
    ["idle_queued", "between queued work", "--idle-queued"],
    ["idle_copy", "a copy call waits", "--idle-copy"],
    ["idle_host", "the host is outside of CUDA", "--idle-host"],
    ["idle_sync", "a synchronisation has not returned", "--idle-sync"],
    ["idle_unknown", "no calls in the trace", "--idle-unknown"],
    ["idle_peer", "NCCL waits for peers", "--idle-peer"],
];
const [LAUNCHING, QUEUED, COPYING, HOST, SYNCHRONISING, UNKNOWN, PEER] = IDLE_CAUSES.keys();
const PIECES = 16; // between sums that are kept

function isWaitingCopy(name) {
    return /^(cuda|cu)Memcpy/.test(name) && !/Async/.test(name);
}

// By name: the cause while a thread is in that call.
function callCauses(timeline) {
    return timeline.names.map(([category, name]) => {
        if (category !== "call") return HOST; // a wait outside of CUDA is time of the host
        if (/Synchronize|StreamQuery|EventQuery/.test(name)) return SYNCHRONISING;
        return isWaitingCopy(name) ? COPYING : LAUNCHING;
    });
}

class Gaps {
    constructor(timeline, busy) {
        this.timeline = timeline;
        this.causes = callCauses(timeline);
        this.calls = outerCalls(timeline);
        this.time = [];
        this.length = [];
        this.cause = [];
        for (let i = 0; i + 1 < busy.count; i++) this.split(busy, i);
        this.pack();
    }

    split(busy, at) {
        const from = busy.end[at];
        const until = busy.begin[at + 1];
        const began = Math.max(from, this.timeline.begin[busy.next[at + 1]]);
        this.splitByLaunch(busy, at, from, began);
        this.add(began, until, PEER); // of NCCL's kernel that begins the stretch
    }

    splitByLaunch(busy, at, from, to) {
        const { timeline } = this;
        const launch = timeline.launch[busy.next[at + 1]];
        if (launch === NONE) return this.add(from, to, UNKNOWN);
        const launched = Math.max(from, Math.min(to, timeline.begin[launch]));
        if (from < launched) this.splitByCalls(trackOf(timeline, launch).lane, from, launched);
        if (launched < to) this.add(launched, to, this.causeOfStart(busy.last[at], launch, from));
    }

    // Why work that was already called for does not run yet.
    causeOfStart(last, launch, from) {
        const { timeline } = this;
        if (endOf(timeline, launch) <= from || timeline.launch[last] === launch) return QUEUED;
        return this.causes[nameIndexOf(timeline, launch)] === COPYING ? COPYING : LAUNCHING;
    }

    splitByCalls(lane, from, to) {
        const { timeline } = this;
        const track = this.calls.get(lane);
        const [first, end] = track ? eventsIn(timeline, track, from, to) : [0, 0];
        let at = from;
        for (let i = first; i < end; i++) {
            const begin = Math.max(timeline.begin[i], at);
            const stop = Math.min(endOf(timeline, i), to);
            if (stop <= begin) continue;
            this.add(at, begin, HOST);
            this.add(begin, stop, this.causes[nameIndexOf(timeline, i)]);
            at = stop;
        }
        this.add(at, to, HOST);
    }

    add(from, to, cause) {
        if (to <= from) return;
        this.time.push(from);
        this.length.push(to - from);
        this.cause.push(cause);
    }

    pack() {
        this.count = this.time.length;
        this.time = Float64Array.from(this.time);
        this.length = Float64Array.from(this.length);
        this.cause = Uint8Array.from(this.cause);
        const sums = new Float64Array(IDLE_CAUSES.length);
        this.sums = new Float64Array((Math.floor(this.count / PIECES) + 1) * sums.length);
        for (let i = 0; i < this.count; i++) {
            if (i % PIECES === 0) this.sums.set(sums, (i / PIECES) * sums.length);
            sums[this.cause[i]] += this.length[i];
        }
        if (this.count % PIECES === 0) this.sums.set(sums, (this.count / PIECES) * sums.length);
    }

    // Adds `sign` times the idle time before a moment, by cause, from a place of `into` on.
    addUntil(time, sign, into, place = 0) {
        const end = lastAtMost(this.time, this.count, time);
        if (end < 0) return;
        const block = Math.floor(end / PIECES);
        const causes = IDLE_CAUSES.length;
        for (let cause = 0; cause < causes; cause++)
            into[place + cause] += sign * this.sums[block * causes + cause];
        for (let i = block * PIECES; i <= end; i++)
            into[place + this.cause[i]] += sign * Math.min(this.length[i], time - this.time[i]);
    }

    // Idle ns by cause in a stretch of time.
    between(from, to, into = new Float64Array(IDLE_CAUSES.length)) {
        into.fill(0);
        this.addUntil(to, 1, into);
        this.addUntil(from, -1, into);
        return into;
    }

    // The cause at a moment; -1: none.
    causeAt(time) {
        const at = lastAtMost(this.time, this.count, time);
        return at >= 0 && time < this.time[at] + this.length[at] ? this.cause[at] : -1;
    }
}

// The calls of a thread that are in no other call, by lane.
function outerCalls(timeline) {
    return new Map(
        timeline.tracks
            .filter(({ kind, depth }) => kind === "calls" && depth === 0)
            .map((track) => [track.lane, track]),
    );
}
