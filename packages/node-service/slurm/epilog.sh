#!/bin/sh
# Slurm's Epilog, as root on the node, after a job has ended: whatever its processes did, its leases end, and the boards are as they
# were. Other jobs of the same user keep theirs.
set -eu
pctodld end-leases --workload "slurm:$SLURM_JOB_ID"
# Where Slurm tracks processes without control groups, a lease names no job: then those of the user on the job's boards end. A driver
# that does not answer fails the epilog, and Slurm drains the node.
[ -n "${SLURM_JOB_GPUS:-}" ] || exit 0
all=$(nvidia-smi --query-gpu=index,uuid --format=csv,noheader)
boards=$(printf '%s\n' "$all" | awk -F', ' -v job="$SLURM_JOB_GPUS" '
    BEGIN { count = split(job, list, ","); for (i = 1; i <= count; i++) of_job[list[i]] = 1 }
    $1 in of_job { printf "%s%s", comma, $2; comma = "," }')
[ -n "$boards" ] || exit 0
exec pctodld end-leases --uid "$SLURM_JOB_UID" --boards "$boards" --workload "slurm:$SLURM_JOB_ID"
