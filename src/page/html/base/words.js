// What the keys of documents are called on the page, which columns of a table are shown first, and
// names of kernels as short as they can be while they still differ.

const WORDS = {
    name: "Name",
    short_name: "Short name",
    percent: "Share",
    total_ns: "Total",
    self_ns: "Own time",
    self_percent: "Own share",
    self_calls: "Own calls",
    self_device_ns: "Own time on the GPU",
    self_sampled_ns: "Own sampled time",
    every: "Calls per recorded stack",
    over_us: "Only calls longer than (us)",
    mean_ns: "Mean",
    min_ns: "Shortest",
    max_ns: "Longest",
    latency_ns: "Latency",
    host_ns: "Host",
    api_ns: "In API calls",
    busy_ns: "GPU busy",
    kernel_ns: "Kernels",
    htod_ns: "Copies to GPU",
    dtoh_ns: "Copies from GPU",
    other_copy_ns: "Other copies",
    set_ns: "Memory sets",
    overlap_ns: "Overlap",
    others_ns: "Others' work",
    idle_ns: "GPU idle",
    idle_launch_ns: "Idle: launching",
    idle_queued_ns: "Idle: queued",
    idle_copy_ns: "Idle: copy call",
    idle_host_ns: "Idle: host",
    idle_sync_ns: "Idle: synchronisation",
    idle_peer_ns: "Idle: for peers",
    idle_recording_ns: "Idle: recording",
    idle_unknown_ns: "Idle: unknown",
    std: "Deviation",
    min: "Min",
    max: "Max",
    by_name: "Rows by name alone",
    by: "Found by",
    by_ns: "Grew by",
    grew: "What grew",
    with_ns: "Overlap with",
    "with_ns.kernel": "Overlap with kernels",
    "with_ns.htod": "Overlap with copies to GPU",
    "with_ns.dtoh": "Overlap with copies from GPU",
    "with_ns.copy": "Overlap with other copies",
    "with_ns.set": "Overlap with memory sets",
    "with_ns.communication": "Overlap with communication",
    beyond_busy_ns: "Concurrent kernels",
    within_streams_ns: "of it within streams",
    between_streams_ns: "of it between streams",
    exposed_ns: "Not overlapped",
    overlapped_ns: "Overlapped",
    kernels_at_once: "Kernels at once",
    contradicted: "Dependencies that times contradict",
    clamped: "Dependencies cut to fit",
    doubtful_percent: "Doubtful",
    undecided: "Waits without a known cause",
    unknown_wakers: "Unknown wakers",
    wrong_wakers: "Impossible wakers",
    unlaunched: "Work without a launch",
    unknown_events: "Unknown events",
    unknown_values: "Unknown values in memory",
    unknown_graphs: "Unknown graphs",
    critical_ns: "On critical path",
    waiting_ns: "Waiting",
    device_waiting_ns: "GPU waiting",
    window_ns: "Window",
    host_code_ns: "Host code",
    gpu_computing_ns: "Computing",
    transfer_ns: "Transfer",
    hidden_ns: "Hidden transfer",
    peer_ns: "Waiting for peers",
    peer_idle_ns: "Idle for peers",
    bubbles_ns: "Bubbles",
    path_changes: "Changes of rank",
    not_scheduled_ns: "Not scheduled",
    launch_latency_ns: "Launch latency",
    stream_gap_ns: "Between work of a stream",
    dependency_latency_ns: "Between streams",
    return_ns: "Return from waits",
    recording_ns: "Recording",
    no_calls: "Without API calls",
    at_once: "Concurrent iterations, mean",
    max_at_once: "Concurrent iterations, max",
    asked_for: "Requested",
    outside: "Work outside of iterations",
    coverage_percent: "Recording covered",
    throughput_per_second: "Iterations per second",
    period_mean_ns: "From begin to begin, mean",
    outlier_limit_ns: "Outliers from",
    occupancy_percent: "Occupancy",
    min_occupancy_percent: "Occupancy, min",
    max_occupancy_percent: "Occupancy, max",
    limit: "Limited by",
    sm_limit: "Blocks limited by",
    blocks_per_sm: "Blocks per SM",
    blocks_by_warps: "Blocks by warps",
    blocks_by_registers: "Blocks by registers",
    blocks_by_shared_memory: "Blocks by shared memory",
    blocks_by_blocks: "Blocks by limit",
    tensor_cores: "Tensor cores",
    tensor_core_ns: "On tensor cores",
    gap_ns: "Gaps",
    gap_mean_ns: "Gap, mean",
    gaps: "Number of gaps",
    launch_ns: "Launching",
    launch_mean_ns: "Launch, mean",
    kernels_per_call: "Kernels per call",
    layer_type: "Type",
    tid: "Thread id",
    pid: "Process",
    size: "Bytes each",
    bytes: "Bytes",
    raw_bytes: "Uncompressed",
    bytes_per_row: "Bytes per row",
    bytes_per_record: "Bytes per record",
    other_bytes: "Other bytes",
    alive: "Alive then",
    gpu_activities: "GPU activities",
    api_calls: "API calls",
    nvtx_ranges: "NVTX ranges",
    work: "Work",
    examples: "Examples",
    pools: "Memory pools",
    churn: "Allocated and freed repeatedly",
    not_freed: "Not freed",
    A_ns: "A",
    B_ns: "B",
    time_A_ns: "Time, A",
    time_B_ns: "Time, B",
    became_name: "Became",
    iteration_percent: "Of an iteration",
    whole: "Whole",
    device_ns: "Time on the GPU",
    miniprof: "miniprof",
    hostname: "Host",
    ppid: "Parent process",
    start_clock_ns: "Clock at the start",
    start_realtime_ns: "Start",
    first_finding: "First finding",
    busy_percent: "GPU busy",
    gpus: "GPUs",
};

// Cells whose values are keys, by the column's key.
export const CELL_WORDS = {
    activity: {
        kernel: "kernels",
        htod: "copies to the GPU",
        dtoh: "copies from the GPU",
        copy: "other copies",
        set: "memory sets",
    },
};

const ABBREVIATIONS = [
    [/\bgpu\b/g, "GPU"],
    [/\bapi\b/g, "API"],
    [/\bnvtx\b/g, "NVTX"],
    [/\bgil\b/g, "GIL"],
    [/\bcpu\b/g, "CPU"],
    [/\bhtod\b/g, "to GPU"],
    [/\bdtoh\b/g, "from GPU"],
    [/\bcupti\b/g, "CUPTI"],
    [/\bp(\d+)\b/g, "P$1"],
    [/\bsm\b/g, "SM"],
];

function wordsOf(key) {
    let words = key
        .replace(/_ns$|_bytes$|_percent$/, "")
        .replace(/_/g, " ")
        .replace(/\./g, ", ");
    for (const [from, to] of ABBREVIATIONS) words = words.replace(from, to);
    return words.charAt(0).toUpperCase() + words.slice(1);
}

// Environment variables and the like keep their names.
export function titleOf(key) {
    return WORDS[key] || (/^[A-Z_]{4,}$/.test(key) ? key : wordsOf(key));
}

// A row's name: the first of these that the rows have comes first.
const NAME_KEYS = ["name", "iteration", "number", "activity", "stream", "quantity", "table",
    "frame", "function", "step", "rule", "rank", "process", "side", "device_name", "range",
    "thread", "pool"];

// Tables by keys that only they have, and the columns that they show at first.
const CHOICES = [
    {
        has: ["registers", "waves"],
        show: "name total_ns percent calls mean_ns max_ns grid block occupancy_percent waves limit",
    },
    {
        has: ["self_device_ns", "launches"],
        show:
            "frame percent device_ns self_device_ns calls launches waiting_ns critical_ns host_ns " +
            "sampled_ns",
    },
    {
        has: ["self_ns", "gap_ns"],
        show: "name total_ns percent self_ns calls mean_ns p50_ns p99_ns kernels gap_ns mark",
    },
    {
        has: ["iteration", "idle_host_ns"],
        show:
            "iteration begin_ns latency_ns busy_ns kernel_ns htod_ns dtoh_ns idle_ns " +
            "idle_launch_ns idle_host_ns idle_sync_ns launches",
    },
    { has: ["iteration", "grew"], show: "iteration begin_ns latency_ns grew by_ns" },
    { has: ["side", "run", "latency_ns"], show: "iteration side run latency_ns" },
    {
        has: ["instances", "gpu_activities.total_ns"],
        show:
            "name domain instances total_ns mean_ns min_ns max_ns gpu_activities.total_ns " +
            "api_calls.total_ns thread_name",
    },
    { has: ["address", "kind", "function"], show: "function bytes time_ns kind range" },
    {
        has: ["reserved_bytes", "trims"],
        show: "pool device_name peak_bytes reserved_bytes used_bytes end_bytes allocations frees",
    },
    {
        has: ["pairs", "freed_bytes"],
        show: "function range pairs bytes allocate_ns free_ns mean_lifetime_ns allocations",
    },
    {
        has: ["interval_low_ns", "iteration_percent"],
        show: "name change difference_ns difference_percent iteration_percent time_A_ns time_B_ns",
    },
];
const USUAL_COLUMNS = 9;

export function chosenColumns(keys) {
    const choice = CHOICES.find(({ has }) => has.every((key) => keys.includes(key)));
    if (!choice) return keys.slice(0, USUAL_COLUMNS);
    return choice.show.split(" ").filter((key) => keys.includes(key));
}

// Name first, then what is shown at first, then the others.
export function orderedKeys(keys) {
    const name = NAME_KEYS.find((key) => keys.includes(key)) ?? keys[0];
    const rest = keys.filter((key) => key !== name);
    const shown = chosenColumns([name, ...rest]);
    return [name, ...new Set([...shown, ...rest].filter((key) => key !== name))];
}

// ---- Names ----

// Without result, arguments, template arguments and most namespaces.
export function shortName(name) {
    const plain = name.replace(/^void /, "").replace(/\(anonymous namespace\)::/g, "");
    const head = plain.split(/[<(]/)[0].trim();
    const parts = head.split("::");
    return parts.slice(-2).join("::") || name;
}

const MAX_TOKENS = 3;
const MIN_BEGINNING = 8; // characters
const MAX_ALIKE = 300; // names: of more, nothing is said
const MAX_MIDDLE = 48; // characters

function tokensOf(name) {
    return name.match(/[\w:]+/g) || [];
}

// What stands between the part that all names begin with and the part that all end with.
function middleOf(name, others) {
    let first = 0;
    let last = 0;
    const all = (agrees) => others.every(agrees);
    while (first < name.length && all((other) => other[first] === name[first])) first++;
    while (
        last < name.length - first &&
        all((other) => other[other.length - 1 - last] === name[name.length - 1 - last])
    )
        last++;
    while (first > 0 && /\w/.test(name[first - 1])) first--;
    const middle = name.slice(first, name.length - last).trim();
    return middle.length > MAX_MIDDLE ? `${middle.slice(0, MAX_MIDDLE)}…` : middle;
}

// The words of a name that not all others of the group have: `CUDAFunctor_add`, `tilesize64x32`.
function ownWords(name, shared) {
    const own = [...new Set(tokensOf(name))].filter((token) => !shared.has(token));
    return [...new Set(own.map((token) => token.split("::").filter(Boolean).pop()))];
}

// The longest beginning up to a _ that all words have; short ones tell more if they stay.
function commonBeginning(words) {
    let length = Math.min(...words.map((word) => word.length));
    while (words.some((word) => word.slice(0, length) !== words[0].slice(0, length))) length--;
    const begin = words[0].slice(0, words[0].slice(0, length).lastIndexOf("_") + 1);
    return begin.length >= MIN_BEGINNING ? begin.length : 0;
}

// By name of a group what tells it apart, in few words.
function differencesOf(group) {
    if (group.length < 2 || group.length > MAX_ALIKE) return new Map();
    const isShared = (token) => group.every((other) => other.includes(token));
    const shared = new Set(tokensOf(group[0]).filter(isShared));
    const words = group.map((name) => ownWords(name, shared).slice(0, MAX_TOKENS));
    const cut = words.every((own) => own.length) ? commonBeginning(words.map(([own]) => own)) : 0;
    const texts = words.map(([first = "", ...rest]) => [first.slice(cut), ...rest].join(", "));
    return new Map(
        group.map((name, i) => {
            const alone = texts[i] && texts.indexOf(texts[i]) === texts.lastIndexOf(texts[i]);
            const others = group.filter((other) => other !== name);
            return [name, alone ? texts[i] : middleOf(name, others)];
        }),
    );
}

// A short name for each, in their order. Names that would look alike get in brackets what tells
// them apart.
export function namesApart(names) {
    const groups = new Map();
    for (const name of new Set(names)) {
        const short = shortName(name);
        if (!groups.has(short)) groups.set(short, []);
        groups.get(short).push(name);
    }
    const words = new Map();
    for (const group of groups.values())
        for (const [name, difference] of differencesOf(group)) words.set(name, difference);
    return names.map((name) => {
        const short = shortName(name);
        return words.get(name) ? `${short}<… ${words.get(name)} …>` : short;
    });
}
