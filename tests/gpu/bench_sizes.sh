#!/bin/bash
# Sizes of the files of one loop: miniprof, nsys, torch.profiler; and what each column of ours
# costs. The shorter loops are left out when time is up. KEEP=folder keeps miniprof's traces there.
. "$(dirname "$0")/lib.sh"
have_torch || skip "no PyTorch with torchvision and CUDA"

sample=$SOURCE/samples/torch/resnet50.py
nsys=$(find_nsys)
most=$(share 11)
echo "| loop | records | bytes | bytes a record | nsys | gzip -6 | torch.profiler | gzip -6 |"
echo "|---|---|---|---|---|---|---|---|"
for loop in "eager 200" "graph 200" "eager 30" "graph 30"; do
    another_round "$most" || break
    read -r mode iterations <<<"$loop"
    run=(python3 "$sample" --mode "$mode" --iterations "$iterations")
    trace=$WORK/resnet50_${mode}_$iterations.mpt
    traced "$trace" "${run[@]}" >/dev/null 2>&1 || fail "$loop: miniprof"
    "${run[@]}" --torch-profiler "$WORK/torch.json" >/dev/null 2>&1 || fail "$loop: torch.profiler"
    report="- | -"
    if [ -n "$nsys" ]; then
        rm -f "$WORK"/nsys.*
        nsys_profile "$WORK/nsys" "${run[@]}" >/dev/null 2>&1
        # The report, or where its importer is missing the stream that it would be made of.
        file=$(find "$WORK" -name 'nsys.nsys-rep' -o -name 'nsys.qdstrm' | sort | head -n 1)
        [ -z "$file" ] || report="$(stat -c %s "$file") | $(gzip -6 -c "$file" | wc -c)"
    fi
    echo "| ResNet-50 $mode, $iterations iterations" \
        "| $(field "$trace" records) | $(field "$trace" bytes)" \
        "| $(field "$trace" bytes_per_record) | $report | $(stat -c %s "$WORK/torch.json")" \
        "| $(gzip -6 -c "$WORK/torch.json" | wc -c) |"
done
for mode in eager graph; do
    echo
    echo "ResNet-50 $mode, 200 iterations, by column:"
    echo
    "$BUILD/tests/tools/column_entropy" "$WORK/resnet50_${mode}_200.mpt" |
        awk -F'|' 'NR < 3 || $6 >= 0.005 || $7 >= 0.005'
done
[ -z "${KEEP:-}" ] || cp "$WORK"/*.mpt "$KEEP"/
