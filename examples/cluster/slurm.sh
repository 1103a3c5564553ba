#!/bin/bash
# Grades a class as an array job of Slurm: each task grades one part of it.
#
#     export CLASS=/shared/course COURSE=/shared/attention
#     job=$(sbatch --parsable --array=0-15 examples/cluster/slurm.sh)
#     sbatch --dependency=afterok:$job --wrap \
#         "autograder merge $CLASS/shards/*.jsonl --to $CLASS/results.jsonl"
#
# CLASS holds submitted/, COURSE is the instructor's folder; every node sees both. The same lines again
# go on where a task was stopped: each task grades only what its own file does not have yet.
#SBATCH --job-name=autograder
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=04:00:00
#SBATCH --requeue
set -euo pipefail
: "${CLASS:?say the folder of the class}" "${COURSE:?say the folder of the course}"

part=$((SLURM_ARRAY_TASK_ID - ${SLURM_ARRAY_TASK_MIN:-0} + 1))
exec autograder grade "$CLASS/submitted" \
    --course "$COURSE" \
    --shard "$part/$SLURM_ARRAY_TASK_COUNT" \
    --results "$CLASS/shards/$part-of-$SLURM_ARRAY_TASK_COUNT.jsonl" \
    --secret "$CLASS/secret.key" \
    --jobs "${SLURM_CPUS_PER_TASK:-1}" \
    --no-gradebook --resume
