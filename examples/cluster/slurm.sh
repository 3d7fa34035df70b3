#!/usr/bin/env bash
# Pre-trains over the GPUs of several machines with Slurm. A job that is preempted or fails resumes from its newest
# checkpoint: Slurm sends SIGTERM, the run saves one and ends.
#
#   sbatch examples/cluster/slurm.sh --prior mix --batch 512 --seconds 3600 --out /shared/run
#
# All machines need the same version of causeway, and --out in a folder that all can write.
#SBATCH --job-name=causeway
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=8
#SBATCH --signal=TERM@120
#SBATCH --requeue
set -euo pipefail

# Without a checkpoint, --resume starts a new run.
srun --kill-on-bad-exit=1 causeway pretrain "$@" --resume
