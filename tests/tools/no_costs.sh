# no_costs FOLDER [VERSIONS]: makes FOLDER the user's cache, with costs of recording that are all 0
# for the GPUs of the traces here, so that reports say what was recorded. VERSIONS are those of the
# software GPU where it makes the traces. Sourced by the other scripts.
no_costs() {
    local gpu versions=${2:-}
    local traces=$'driver=13000\ncupti=130001'
    export XDG_CACHE_HOME=$1
    mkdir -p "$1/miniprof"
    for gpu in SimGPU "NVIDIA H100 80GB HBM3" "NVIDIA H200"; do
        printf 'gpu=%s\n%s\n' "$gpu" "${versions:-$traces}"
        versions= # the first alone
        sed -n 's/^COST(\([a-z_]*\),.*/\1=0/p' "$SOURCE/src/model/costs/costs.def"
        echo
    done >"$1/miniprof/recording-costs"
}
