#!/bin/bash
# Grades a class as an array job of Slurm: each task grades one part of the class.
#
#     export CLASS=/shared/course COURSE=/shared/attention
#     job=$(sbatch --parsable --array=0-15 examples/cluster/slurm.sh)
#     sbatch --dependency=afterok:$job --wrap \
#         "autograder merge $CLASS/shards/*.jsonl --to $CLASS/results.jsonl"
#
# CLASS is a folder that contains submitted/, and COURSE is the instructor's folder; all nodes must be
# able to read both. To finish tasks that were stopped, run the same lines again: each task grades only
# the submissions that have no result in its file yet.
#SBATCH --job-name=autograder
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=04:00:00
#SBATCH --requeue
set -euo pipefail
: "${CLASS:?set it to the folder of the class}" "${COURSE:?set it to the folder of the course}"

part=$((SLURM_ARRAY_TASK_ID - ${SLURM_ARRAY_TASK_MIN:-0} + 1))
autograder grade "$CLASS/submitted" \
    --course "$COURSE" \
    --shard "$part/$SLURM_ARRAY_TASK_COUNT" \
    --results "$CLASS/shards/$part-of-$SLURM_ARRAY_TASK_COUNT.jsonl" \
    --secret "$CLASS/secret.key" \
    --jobs "${SLURM_CPUS_PER_TASK:-1}" \
    --no-gradebook --resume || status=$?
# status 3: an assignment needs a person's attention; everything else in this part is graded, so merge it
[ "${status:-0}" -eq 3 ] || exit "${status:-0}"
