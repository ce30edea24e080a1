// What the page reads: the documents that miniprof writes into it (src/page/documents.h), and what
// the scripts make of them. Only the compiler of types reads this file (tests/rules/types.sh).

/** ns, bytes or a count. Numbers of more than 15 digits, which a double cannot hold, are texts. */
type Long = number | string;

/** A document that the trace has nothing for says why; all else of it is then missing. */
interface Note {
    note?: string;
}

interface PageDocument {
    id: string;
    title: string;
    value: any;
}

/** The documents of one process by their ids. All are optional: a page may have few. */
interface Documents {
    overview?: { span_ns: number; devices: { device: number; name: string; busy_ns: number | null }[] };
    timeline?: TimelineDocument;
    iters?: IterationsDocument;
    iterations?: RowsDocument;
    advise?: AdviceDocument;
    layers?: Note & { by: string; has_ranges: boolean; layers: Layer[] };
    memory?: Note & { start_ns: Long };
    memory_lines?: MemoryLinesDocument;
    counter_lines?: { sets: { device: number; bins: number; counters: CounterDocument[] }[] };
    stacks?: StacksDocument;
    summary?: Note & { pid: number; command: string; groups: { name: string; rows: any[] }[] };
    deps?: Note & { doubtful_percent: Long };
    info?: InfoDocument;
    left_out?: Record<string, { shown: number; all: number }>;
    peers?: { events: number[]; waiting_ns: number[] };
    diff?: any;
    latencies?: LatenciesDocument;
    [id: string]: any;
}

/** Columns and rows, since there are many. */
interface RowsDocument {
    columns: string[];
    rows: any[][];
}

interface InfoDocument {
    records: number;
    bytes: number;
    last_ns: Long;
    properties: Record<string, any>;
    quality: { whole: boolean; warning: string; dropped: number; damage: Record<string, any> };
    tables: { table: string; rows: number }[];
}

interface IterationsDocument extends Note {
    by: "nvtx" | "range" | "graph" | "kernels" | "syncs" | "requests" | "whole";
    count: number;
    median: number;
    why_whole: string;
    coverage_percent: number | null;
    throughput_per_second: number | null;
    outlier_limit_ns: number;
    outliers: { iteration: number; begin_ns: Long; latency_ns: number; grew: string | null }[];
    statistics: Record<string, Record<string, number>>;
    headline: {
        of: string;
        p50_ns: number;
        kinds: { range: string; p50_ns: number; count: number }[];
    };
    recording_cost: Record<string, any>;
    [key: string]: any;
}

interface AdviceDocument extends Note {
    findings: Finding[];
    not_tried: { rule: string; reason: string }[];
    judged: number;
    iterations: number;
    latency_p50_ns: number;
    step_p50_ns: number;
    basis: "without_recording" | "as_recorded";
    basis_p50_ns: number;
    framework: string | null;
    quality: { gap: boolean; warning: string };
}

interface Finding {
    title: string;
    evidence: string;
    to_do: string;
    assumes: string;
    gain_ns: number;
    gain_percent: number;
    certainty: "estimate" | "bound";
    method: string;
    numbers: Record<string, number>;
    lines: { text: string; name: string | null; iteration: number | null }[];
    callers?: Caller[];
    packages?: Caller[];
}

interface Caller {
    file: string;
    line: number;
    function: string;
    percent: number;
    part?: "call" | "host_code";
}

interface Layer {
    id: number;
    parent: number | null;
    depth: number;
    name: string | null;
    total_ns: number;
    percent: number;
    calls: number;
    p50_ns: number | null;
    mark: string;
}

interface MemoryLinesDocument extends Note {
    start_ns: Long;
    time_ns: Long[];
    lines: { device_name: string; pool: Long | null; max_bytes: Long[]; end_bytes: Long[] }[];
}

interface CounterDocument {
    name: string;
    unit: string;
    source: string;
    step: number;
    most: number;
}

interface StacksDocument {
    stacks?: false;
    tree: any[];
    rows: any[];
    all: any;
    samples: number;
    [key: string]: any;
}

interface LatenciesDocument {
    percents: number[];
    a: LatenciesOfSide;
    b: LatenciesOfSide;
    positions_left_out: number;
}

interface LatenciesOfSide {
    count: number;
    iterations: number[];
    latencies_ns: Long[];
    percentiles_ns: Long[];
}

/** One process of a page of several (src/page/report.h). */
interface ProcessRow {
    process: string;
    file: string;
    host: string;
    rank: number | null;
    pid: number;
    command: string;
    offset_ns: Long;
    records: number;
    whole: boolean;
}

/** The documents by process. A page of one process has no summary. */
interface Parts {
    summary: { clocks: string; left_out: number; processes: ProcessRow[] } | null;
    processes: PageDocument[][];
    job?: { deps: any; advice: any } | null;
}

/** src/page/timeline.h has the columns that go with it. */
interface TimelineDocument {
    origin_ns: Long;
    end_ns: Long;
    fan: number;
    events: number;
    left_out_late: number;
    until_ns: Long | null;
    left_out_deep: number;
    lanes: Lane[];
    tracks: { lane: number; kind: TrackKind; depth: number; domain: string; count: number }[];
    names: [category: string, name: string][];
    kinds: [name: number, detail?: string][];
    callers?: string[];
}

type TrackKind = "calls" | "ranges" | "work";

interface Lane {
    kind: "thread" | "stream";
    id: Long;
    name: string;
    context?: number;
    device?: number;
    process?: number; // index in `processes`
}

interface Track {
    index: number;
    lane: number;
    kind: TrackKind;
    depth: number;
    domain: string;
    count: number;
    first: number; // event
    end: number; // event
    levels: Level[];
}

/** Groups of events, for pictures; level 0 has a count and a span only. */
interface Level {
    count: number;
    span: number; // events of a group
    idle?: Float64Array;
    name?: ArrayLike<number>;
    critical?: Float64Array;
}

/** By event; times are ns from the origin on. NONE: there is no such event. */
interface Columns {
    begin: Float64Array;
    duration: Float64Array;
    kind: Uint32Array;
    flags: Uint8Array;
    launch: Int32Array;
    bound: Int32Array;
    critical: Float64Array;
    waiting: Float64Array;
    peer: Float64Array;
    caller: Uint32Array;
}

interface Timeline extends Columns {
    origin: Long;
    count: number;
    fan: number;
    span: number;
    tracks: Track[];
    lanes: Lane[];
    names: [category: string, name: string][];
    kinds: [name: number, detail?: string][];
    callers: string[];
    processes: { label: string; origin: Long; leftOut: number; until: number }[];
}

/** A stretch of time, ns from the origin on. */
interface Stretch {
    begin: number;
    end: number;
    event?: number;
}

/** What views need to lead to the time line; empty where there is none. */
interface ViewOptions {
    timeline?: Timeline;
    process?: number;
    origin?: Long;
    show?: (stretch: Stretch) => void;
    openView?: (id: string) => void;
    onmove?: () => void;
    onrow?: (row: any) => void;
}

/** What a counter was in one bin after the other; NaN: unknown. */
interface CounterLine extends CounterDocument {
    device: number;
    begin: Float64Array;
    end: Float64Array;
    count: number;
    mean: Float64Array;
    min: Float64Array;
    max: Float64Array;
    scale: number;
}

/** What a GPU of a process did. */
interface Device {
    number: number;
    name: string;
    process: number;
    lanes: number[];
    busy: Busy;
    gaps: import("./timeline/gpu.js").Gaps;
    copies: Sums | null;
    memory: Steps | null;
    counters: CounterLine[];
    ranges: { title: string; spans: Spans }[];
}

interface Busy {
    begin: Float64Array;
    end: Float64Array;
    before: Float64Array; // busy time before the stretch
    next: Uint32Array; // the event that begins it
    last: Uint32Array; // the event that ends it
    count: number;
}

interface Sums {
    time: Float64Array;
    rate: Float64Array; // from then on
    before: Float64Array;
    count: number;
    max: number;
}

interface Steps {
    name: string;
    time: Float64Array;
    bytes: Float64Array;
    max: number;
}

interface Spans {
    begin: Float64Array;
    end: Float64Array;
    event: Uint32Array;
    count: number;
}

/** A row of the time line; y and what follows it only when it has its place. */
interface Row {
    paint: number;
    height: number;
    title?: string;
    track?: Track;
    device?: Device;
    devices?: Device[];
    line?: CounterLine;
    memory?: boolean;
    spans?: Spans;
    block?: Block;
    y?: number;
    pinned?: boolean;
    isHead?: boolean;
}

interface Block {
    key: string;
    level: number;
    title: string;
    head: Row;
    rows: Row[];
    busy?: Busy;
    time?: number;
}

interface Window {
    miniprof: any;
}

interface Element {
    dataTable?: any;
    flame?: any;
    node?: any;
}

/** What the page's address holds; `weight`, `zoom` and `node` are those of a flame graph. */
interface Address {
    view: string;
    process?: number;
    from?: number;
    to?: number;
    event?: number;
    weight?: number;
    zoom?: number;
    node?: number;
}
