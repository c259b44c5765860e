#!/usr/bin/env bash
# A wedge on a real Slurm: its servers on this machine, one node, an array of six. One task is killed and one requeued in mid-bake; what comes out
# must equal a wedge baked here, byte for byte, and no stored frame may be baked twice.
#
#     interop/judge_wedge.sh PROGRAM WORK_FOLDER
#
# Needs munged, slurmctld, slurmd (Debian: munge, slurmctld, slurmd) and root.
set -euo pipefail
program="$(realpath "$1")"
work="$2"
rm -rf "$work" && mkdir -p "$work"
work="$(realpath "$work")"
run="$work/servers"
mkdir -p "$run/state" "$run/spool" "$run/munge"
chmod 700 "$run/munge"
host="$(hostname -s)"

pids=()
end() {
    local pid
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
}
trap end EXIT

dd if=/dev/urandom of="$run/munge/key" bs=1024 count=1 status=none
chmod 600 "$run/munge/key"
# the socket's path may have 100 characters at most
socket="$(mktemp -u /tmp/munge.XXXXXX)"
munged --foreground --force --key-file="$run/munge/key" --socket="$socket" --pid-file="$run/munge/pid" \
    --log-file="$run/munge/log" --seed-file="$run/munge/seed" 2>"$run/munge/errors" &
pids+=($!)

cat >"$run/slurm.conf" <<CONF
ClusterName=followthrough
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$socket
CryptoType=crypto/munge
SlurmctldPort=26817
SlurmdPort=26818
StateSaveLocation=$run/state
SlurmdSpoolDir=$run/spool
SlurmctldPidFile=$run/slurmctld.pid
SlurmdPidFile=$run/slurmd.pid
SlurmctldLogFile=$run/slurmctld.log
SlurmdLogFile=$run/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=1
KillWait=5
MinJobAge=600
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=night Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF="$run/slurm.conf"
slurmctld -D 2>"$run/slurmctld.errors" &
pids+=($!)
slurmd -D 2>"$run/slurmd.errors" &
pids+=($!)

# until SECONDS WHAT COMMAND…: waits until a command succeeds.
until_true() {
    local limit=$((SECONDS + $1)) what="$2"
    shift 2
    until "$@" >/dev/null 2>&1; do
        if [ "$SECONDS" -ge "$limit" ]; then
            echo "FAILED: $what did not happen" >&2
            tail -n 20 "$run"/*.log "$run"/*.errors >&2 || true
            return 1
        fi
        sleep 0.2
    done
}
node_is_idle() { sinfo --noheader --format=%T | grep -q '^idle$'; }
until_true 30 "an idle node" node_is_idle

cat >"$work/curtain.toml" <<'SHOT'
[input]
sample = "curtain"
frames = "0-12"

[[layer]]
kind = "smooth"
window = 0.1

[[layer]]
kind = "cloth"
name = "fabric"
follow = { height = { from = 1.7, to = 1.8 } }

[output]
files = ["curtain.pc2", "curtain.webp"]
film = { width = 160, height = 120 }
report = false
SHOT
vary=(--vary layer.fabric.material=silk,cotton,denim --vary layer.fabric.damping=0.1,0.3)

"$program" --quiet wedge "$work/curtain.toml" "${vary[@]}" --out "$work/here"
"$program" --quiet wedge "$work/curtain.toml" "${vary[@]}" --out "$work/farm" --on slurm --partition night --at-once 2 --threads 1
job="$(sed -n 's/^ *"array": "\([0-9]*\)",$/\1/p' "$work/farm/plan.json")"
[ -n "$job" ] || { echo "FAILED: no job in plan.json" >&2; exit 1; }

frames() { find "$work/farm/$1/.bake" -path '*fabric*' -name 'frame-*.bin' 2>/dev/null | wc -l; }
has_some() { [ "$(frames "$1")" -ge 3 ]; }
until_true 120 "the first frames of task 0" has_some 000
scancel --signal=KILL "${job}_0"
until_true 120 "the first frames of task 1" has_some 001
scontrol requeue "${job}_1"
at_requeue="$(frames 001)"

is_over() { [ -z "$(squeue --noheader --jobs="$job" 2>/dev/null)" ]; }
until_true 600 "the end of the array" is_over
"$program" wedge "$work/farm" --status
state() { sed -n 's/^  "state": "\(.*\)",\{0,1\}$/\1/p' "$work/farm/$1/state.json"; }
[ "$(state 000)" != done ] || { echo "FAILED: the killed task says that it is done" >&2; exit 1; }
killed="$(frames 000)"

# what was killed goes on from its last frame
"$program" --quiet wedge "$work/farm" --retry --on slurm
job="$(sed -n 's/^ *"array": "\([0-9]*\)",$/\1/p' "$work/farm/plan.json")"
until_true 600 "the end of the second array" is_over
for n in 000 001 002 003 004 005; do
    [ "$(state $n)" = done ] || { echo "FAILED: try $n is $(state $n)" >&2; cat "$work"/farm/slurm-*.out >&2; exit 1; }
    cmp "$work/here/$n/curtain.pc2" "$work/farm/$n/curtain.pc2"
    cmp "$work/here/$n/curtain.webp" "$work/farm/$n/curtain.webp"
    # of the smoothing, nothing was baked in a try's own folder
    [ -z "$(find "$work/farm/$n/.bake" -path '*smooth*' -name 'frame-*.bin')" ] || { echo "FAILED: try $n baked the common layer" >&2; exit 1; }
done
baked() { sed -n 's/^  "baked": \([0-9]*\),\{0,1\}$/\1/p' "$work/farm/$1/state.json"; }
[ "$(baked 000)" -le $((13 - killed)) ] || { echo "FAILED: try 000 baked $(baked 000) frames with $killed there" >&2; exit 1; }
[ "$(baked 001)" -le $((13 - at_requeue)) ] || { echo "FAILED: try 001 baked $(baked 001) frames with $at_requeue there" >&2; exit 1; }
# every frame was noted once when it was baked
for n in 000 001 002 003 004 005; do
    lines="$(cat "$work/farm/$n"/.bake/fabric-*/timings.txt | cut -d' ' -f1 | sort | uniq -d | wc -l)"
    [ "$lines" -eq 0 ] || { echo "FAILED: $lines frames of try $n were baked twice" >&2; exit 1; }
done
page_is_there() { [ -s "$work/farm/wedge.html" ]; }
until_true 60 "the page" page_is_there

# what Slurm refuses is told with what to do
said="$("$program" wedge "$work/curtain.toml" "${vary[@]}" --out "$work/nowhere" --on slurm --partition noon 2>&1 || true)"
grep -q "sinfo" <<<"$said" || { echo "FAILED: a wrong partition was told as: $said" >&2; exit 1; }
echo "wedge on Slurm: six tries equal, one killed after $killed frames, one requeued after $at_requeue"
