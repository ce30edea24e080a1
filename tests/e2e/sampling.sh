#!/bin/bash
# MINIPROF_SAMPLE: every sample against what the software GPU did meanwhile
# (tests/tools/samples.py), in capture ranges only; what happens without permission, beside another
# sampler, with more counters than fit and with full buffers; and that the program does not notice.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

program=("$steps" init alpha=8 sync start alpha=40 beta=40 sync stop beta=8 sync print=text)
ten=10000 # ns from sample to sample at 100 kHz

# right NAME [DEVICE]: what samples.py says.
right() {
    python3 "$SOURCE/tests/tools/samples.py" "$miniprof" "$work/$1.mpt" "${@:2}"
}

# sources NAME: "source number" of the counters, on one line.
sources() {
    echo $(tally "$1" counter source)
}

# source_of NAME COUNTER [DEVICE]
source_of() {
    rows "$1" counter | awk -F, -v name="$2" -v device="(${3:-0})" \
        '$3 == name && index($2, device) { print $4 }'
}

# times NAME COUNTER: "begin end" of its samples.
times() {
    local id
    id=$(rows "$1" counter | awk -F, -v name="$2" '$3 == name { print $1 }')
    # Of the 19 digits of a time, awk has room for 15.
    rows "$1" sample | awk -F, -v id="#$id" \
        '$1 == id { end = substr($2, 9); printf "%.0f %.0f\n", end - $3, end }'
}

bare plain -- "${program[@]}"

# ---- what needs no PM sampling ----------------------------------------------------------------
profile rate MINIPROF_SAMPLE=default@1MHz -- "${program[@]}"
unharmed "1 MHz" rate plain 0
like "1 MHz: refused with what is taken" \
    "MINIPROF_SAMPLE='default@1MHz' is not valid: .*from 10Hz to 200kHz" "$(said rate)"
profile metrics MINIPROF_METRICS=ipc MINIPROF_SAMPLE=default -- "${program[@]}"
like "with metrics" 'METRICS and MINIPROF_SAMPLE need the same counters: nothing is sampled' \
    "$(said metrics)"
same "with metrics: no samples" 0 "$(count metrics sample)"
profile old SIMGPU_CUPTI_VERSION=22 SIMGPU_NVML=0 MINIPROF_SAMPLE=default -- "${program[@]}"
unharmed_but_for_stdout "an old CUPTI without NVML" old plain 0
like "an old CUPTI without NVML" 'no counters are sampled: .*use CUDA 12.6 or later' "$(said old)"
same "an old CUPTI without NVML: asked for in vain" "nobody 19" "$(sources old)"
like "an old CUPTI without NVML: and why not by NVML" \
    "not sampled: 'power', .*, 'too_hot': NVML does not start .*error 9.*nvidia-smi" "$(said old)"
no_nvml='NVML does not start (error 9): see whether `nvidia-smi` works'
profile unread SIMGPU_NVML=0 MINIPROF_SAMPLE=power,temperature -- "${program[@]}"
unharmed_but_for_stdout "NVML alone, without NVML" unread plain 0
same "NVML alone, without NVML: one line" \
    "miniprof: device 0: not sampled: 'power', 'temperature': $no_nvml" "$(said unread)"

# ---- NVML in real time -----------------------------------------------------------------------
start nvml SIMGPU_REAL_TIME=1 SIMGPU_PM_ERROR=35 SIMGPU_THROTTLE=power SIMGPU_CLOCK_PERCENT=60 \
    MINIPROF_SAMPLE=default -- "$steps" init alpha=1 sync await=sampled alpha=1 sync print=text
await has nvml sample 80 # four of each counter
touch sampled
wait "$pid"
status=$?
unharmed_but_for_stdout "NVML" nvml plain 0
# "mean samples" of a counter
mean() {
    local id step
    id=$(rows "$1" counter | awk -F, -v name="$2" '$3 == name { print $1 }')
    rows "$1" sample | awk -F, -v id="#$id" '$1 == id { print $4 }' | python3 -c '
import sys
values = [int(line) for line in sys.stdin]
wide = lambda p: p if p < 512 else (p % 256 + 256) * 2 ** (p // 256 - 1)
print(round(sum(map(wide, values)) / len(values)), len(values) >= 3)'
}
same "NVML: 412.5 W" "4128 True" "$(mean nvml power)"
same "NVML: 60 % of the clock" "1052 True" "$(mean nvml sm_clock)"
same "NVML: limited by power all the time" "1000 True" "$(mean nvml power_capped)"
same "NVML: and not by heat" "0 True" "$(mean nvml too_hot)"
same "NVML: GPM's metrics come too" 1 "$(($(rows nvml sample | grep -c '^"*#1,') >= 3))"

plays cuptiPmSamplingEnable || {
    leaves_out "samples by CUPTI"
    finish
}

# ---- values ----------------------------------------------------------------------------------
profile values MINIPROF_SAMPLE=default@100kHz -- "${program[@]}"
unharmed values values plain 0
complete values values
same "values: quiet" "" "$(said values)"
same "values: who measures what" "cupti 13 nvml 6" "$(sources values)"
like "values: every sample is right" '^[0-9]{2,} right$' "$(right values)"
same "values: samples follow each other" "" \
    "$(times values dram_read | awk 'NR > 1 && $1 != last; { last = $2 }')"
same "values: they are as long as asked for" $ten "$(rows values sample |
    awk -F, '$1 == "#1" { print $3 }' | sort -u)"
same "values: kernels are as without" "alpha 40 beta 40" "$(kernels values)"
range=$(rows values capture | awk -F, '{ printf "%.0f ", substr($3, 9) }')
same "values: in the capture range only" "" "$(times values dram_read |
    awk -v range="$range" '{ split(range, r, " "); if ($2 <= r[1] || $1 >= r[2]) print }')"
profile all MINIPROF_CAPTURE=all MINIPROF_SAMPLE=dram_read,sm_active@100kHz -- "${program[@]}"
unharmed "the whole run" all plain 0
like "the whole run: every sample is right" '^[0-9]{2,} right$' "$(right all)"
same "the whole run: the two that were asked for" "sm_active 1 dram_read 1" \
    "$(echo $(tally all counter name | sort -r))"
profile ranges MINIPROF_CAPTURE=range MINIPROF_SAMPLE=dram_read@100kHz -- "$steps" init alpha=8 \
    sync start alpha=40 sync stop beta=80 sync start beta=40 sync stop print=text
like "two ranges: every sample is right" '^[0-9]{2,} right$' "$(right ranges)"
same "two ranges: nothing between them" 1 \
    "$(times ranges dram_read | awk 'NR > 1 && $1 - last > 100000; { last = $2 }' | wc -l)"
profile raw MINIPROF_SAMPLE=dram__sectors_read.sum@100kHz -- "${program[@]}"
same "CUPTI's own name: its value" 3 "$(column raw sample value | sort -u)"
profile graph MINIPROF_SAMPLE=default@100kHz -- "$steps" init begin alpha=20 beta=20 end \
    instantiate start launch launch sync stop print=text
like "a graph: every sample is right" '^[0-9]{2,} right$' "$(right graph)"

# ---- names -----------------------------------------------------------------------------------
mistaken=sm_actve,fb_used,DEFAULT,dram_read,gpu__none.sum,sm__cycles_active
mistaken+=,dram__bytes_read.sum.per_secon,sm__cycls_active.avg
profile names MINIPROF_SAMPLE=$mistaken@100kHz -- "${program[@]}"
unharmed names names plain 0
like "names: an unknown one, with the nearest" \
    "there is no counter 'sm_actve'; did you mean 'sm_active'?" "$(said names)"
like "names: DCGM's" "there is no counter 'fb_used'; did you mean 'memory_used'?" "$(said names)"
like "names: a word in capitals" "'DEFAULT'; did you mean 'default'?" "$(said names)"
like "names: one of CUPTI's without rollup" "'sm__cycles_active'; one .* 'sm__cycles_active.sum'" \
    "$(said names)"
same "names: those that the GPU lacks, with what was meant, in one line" \
    "miniprof: device 0: the GPU has no counter 'gpu__none.sum', 'dram__bytes_read.sum.per_secon' \
(did you mean 'dram__bytes_read.sum.per_second'?), 'sm__cycls_active.avg' \
(did you mean 'sm__cycles_active.avg'?): \`miniprof metrics --query --sampling\` lists those \
that it has" "$(said names | grep 'device 0')"
like "names: the others are sampled" '^[0-9]{2,} right$' "$(right names)"
profile passes SIMGPU_PM_COUNTERS=4 SIMGPU_GPM=0 \
    MINIPROF_SAMPLE=sm_active,tensor_active,dram_active,dram_read,dram_write,gr_active@100kHz \
    -- "${program[@]}"
unharmed passes passes plain 0
like "more than one pass: which to leave out" \
    "no room in the one pass that sampling takes: 'dram_write', 'gr_active': sample them in a run" \
    "$(said passes)"
profile reasons SIMGPU_PM_COUNTERS=1 MINIPROF_SAMPLE=dram_read,gpu__none.sum,dram_write@100kHz \
    -- "${program[@]}"
same "no such counter, and no room: a line each" \
    "'gpu__none.sum': \`miniprof metrics 'dram_write': sample" \
    "$(echo $(said reasons | grep -o "'.*': \(sample\|\`miniprof metrics\)"))"
same "no such counter, and no room: the trace has both reasons" \
    "this GPU has no such counter, it does not fit into one pass beside the counters before it" \
    "$(rows reasons counter | grep -o 'this GPU has no[^"(,]*\|it does not fit[^":]*' |
        paste -sd, | sed 's/,/, /')"
same "more than one pass: the others are sampled" "cupti 4 nobody 2" "$(sources passes)"
like "more than one pass: and right" '^[0-9]{2,} right$' "$(right passes)"
profile pace SIMGPU_PM_EVALUATE_US=100 MINIPROF_SAMPLE=default@200kHz -- "${program[@]}"
unharmed pace pace plain 0
like "faster than values are worked out: what to do" \
    'takes [0-9]+ us for a sample of 13 counters, .* every 5 us: some may .*, or for @[0-9]{4}Hz' \
    "$(said pace)"
like "faster than values are worked out: what there is is right" '^[0-9]{2,} right$' "$(right pace)"
profile core SIMGPU_PM_WAIT_US=2000 MINIPROF_SAMPLE=sm_active@1kHz MINIPROF_CAPTURE=all \
    -- "$steps" init alpha=30000 sync
same "a busy core is no slow CUPTI" "" "$(said core)"
same "a busy core is no slow CUPTI: there were samples to tell" 1 \
    "$(($(count core sample) > 64))"

# ---- what stands in the way ------------------------------------------------------------------
profile denied SIMGPU_PM_ERROR=35 MINIPROF_SAMPLE=default@100kHz -- "${program[@]}"
unharmed "no permission" denied plain 0
like "no permission: what to do" \
    'NVML is read 10 times a second, .*run as root, or load the nvidia module with NVreg_' \
    "$(said denied)"
same "no permission: NVML instead" "gpm 9 nobody 3 nvml 7" \
    "$(sources denied)"
like "no permission: the trace says why" 'run as root' "$(rows denied counter | grep -m1 ,gpm,)"
same "no permission: kernels are as without" "alpha 40 beta 40" "$(kernels denied)"
profile busy SIMGPU_PM_BUSY=1 MINIPROF_SAMPLE=default -- "${program[@]}"
like "another sampler" 'pause DCGM with `dcgmi profile --pause`' "$(said busy)"
profile part SIMGPU_NVML=0 MINIPROF_SAMPLE=default -- "${program[@]}"
same "CUPTI without NVML: one line" "miniprof: device 0: not sampled: 'power', 'memory_clock', \
'temperature', 'memory_used', 'power_capped', 'too_hot': $no_nvml" "$(said part)"
like "CUPTI without NVML: the trace says why" 'NVML does not start' \
    "$(rows part counter | grep -m1 ,power,)"
profile one SIMGPU_DEVICES=2 SIMGPU_PM_ERROR=35 SIMGPU_PM_ERROR_DEVICE=1 \
    MINIPROF_SAMPLE=default@100kHz \
    -- "$steps" init alpha=40 sync device=1 beta=40 sync device=0 alpha=10 sync print=text
same "one device of two" "cupti gpm" \
    "$(echo $(source_of one dram_active 0) $(source_of one dram_active 1))"
like "one device of two: its samples are right" '^[0-9]{2,} right$' "$(right one 0)"

# ---- buffers and clocks ----------------------------------------------------------------------
profile full SIMGPU_PM_SAMPLES=6 MINIPROF_SAMPLE=default@100kHz -- "${program[@]}"
unharmed "a full buffer" full plain 0
same "a full buffer: counted" 1 "$(($(counter full sample_overflows) > 0))"
like "a full buffer: what is left is right" '^[0-9]+ right$' "$(right full)"
profile oldest SIMGPU_PM_SAMPLES=6 SIMGPU_PM_OLDEST_ONLY=1 MINIPROF_SAMPLE=default@100kHz \
    -- "${program[@]}"
unharmed "a full buffer of the oldest" oldest plain 0
like "a full buffer of the oldest: what is left is right" '^[0-9]+ right$' "$(right oldest)"
profile cycles SIMGPU_PM_CYCLES_ONLY=1 MINIPROF_SAMPLE=default@100kHz -- "${program[@]}"
like "by clock cycles: every sample is right" '^[0-9]{2,} right$' "$(right cycles)"
same "by clock cycles: they are as long" $ten \
    "$(rows cycles sample | awk -F, '$1 == "#1" { print $3 }' | sort -u)"
profile day SIMGPU_PM_CLOCK=day MINIPROF_SAMPLE=dram_read@100kHz -- "${program[@]}"
same "another clock: on the trace's" "" "$(times day dram_read |
    awk -v range="$range" '{ split(range, r, " "); if ($1 < 0 || $2 > r[2] + 1e9) print }')"

# ---- beside other things -----------------------------------------------------------------------
# A CUPTI that hangs: the call that makes the context waits for a moment, and nobody after it.
profile slow SIMGPU_PM_SLEEP_MS=600000 MINIPROF_TEST_TIME_DIVISOR=4 MINIPROF_SAMPLE=default -- \
    timeout -s KILL 300 "${program[@]}"
unharmed "CUPTI hangs: the program goes on" slow plain 0
same "CUPTI hangs: kernels are as without" "alpha 40 beta 40" "$(kernels slow)"
complete "CUPTI hangs" slow
start flight MINIPROF_FLIGHT=10s MINIPROF_SAMPLE=dram_read@100kHz -- "$steps" init alpha=40 sync \
    written send=12 await=dumped alpha=10 sync print=text
await [ -e flight.mpt ]
touch dumped
wait "$pid"
same "the flight recorder: exit code" 0 $?
like "the flight recorder: every sample is right" '^[0-9]{2,} right$' "$(right flight)"
profile killed MINIPROF_SAMPLE=default@100kHz -- "$steps" init alpha=40 sync raise=15
same "SIGTERM: exit code" 143 "$status"
complete "SIGTERM" killed
like "SIGTERM: every sample is right" '^[0-9]{2,} right$' "$(right killed)"
profile forked MINIPROF_SAMPLE=default@100kHz -- "$steps" init alpha=40 sync fork alpha=40 sync \
    print=text
like "a forked child: every sample is right" '^[0-9]{2,} right$' "$(right forked)"

# ---- which there are -------------------------------------------------------------------------
"$miniprof" metrics --query --sampling >query.out 2>query.err
same "query: exit code" 0 $?
same "query: quiet" "" "$(cat query.err)"
same "query: title" "Counters for MINIPROF_SAMPLE:" "$(head -n 1 query.out)"
like "query: nsys's and DCGM's names" 'SMs Active, DCGM_FI_PROF_SM_ACTIVE' \
    "$(grep ' sm_active:' query.out)"
like "query: CUPTI's metric" 'measured as sm__cycles_active.avg.pct_of_peak_sustained_elapsed' \
    "$(grep -A 1 ' sm_active:' query.out)"
SIMGPU_PM_COUNTERS=3 SIMGPU_GPM=0 "$miniprof" metrics --query --sampling >few.out 2>/dev/null
like "query: one that does not fit" 'not available: it does not fit into one pass' \
    "$(grep -A 1 ' pcie_rx:' few.out)"
finish
