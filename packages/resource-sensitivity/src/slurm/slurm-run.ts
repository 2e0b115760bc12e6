import { readNote, type SlurmJobRequest } from '@pctodl/job-array'
import { InvalidInputError } from '@pctodl/platform'
import { z } from 'zod'
import type { Grant, Seat } from '../engine/actions.js'
import type { Job } from '../trace/job.js'

/** Exit code of a job that was told to stop and has saved its progress. (Unused by sysexits.) */
export const SAVED_EXIT_CODE = 85

/**
 * The environment of a run, by which it follows the checkpoint contract; see README.
 *
 * @param checkpointFile file in which the job reports its saved progress, `{"doneIterations": 120}`
 * @param run number of this start of the job, from 1
 * @param cpus CPUs of the run on all nodes
 * @param powerLimitsW with a power budget: power limit of each GPU at the start, node by node
 */
export function contractEnvironment(
  checkpointFile: string,
  job: Job,
  run: number,
  cpus: number,
  powerLimitsW?: readonly number[],
): Record<string, string> {
  return {
    PCTODL_CHECKPOINT: checkpointFile,
    PCTODL_ITERATIONS: String(job.iterations),
    PCTODL_JOB: String(job.id),
    PCTODL_RUN: String(run),
    PCTODL_GPUS: String(job.gpus),
    PCTODL_CPUS: String(cpus),
    ...(powerLimitsW && { PCTODL_POWER_LIMIT_W: powerLimitsW.join(',') }),
  }
}

const checkpoint = z.object({ doneIterations: z.number().min(0) })

/** Saved progress of a job, iterations; undefined without a readable checkpoint, since the job then starts afresh. */
export function readCheckpoint(file: string): number | undefined {
  try {
    const text = readNote(file)
    return text === undefined ? undefined : checkpoint.parse(JSON.parse(text)).doneIterations
  } catch {
    return undefined
  }
}

/** Slurm's MB per GB. The true factor is 1024; the smaller one keeps the shares within a node's memory. */
const MB_OF_GB = 1000

/**
 * Slurm request for a job's grant: whole CPUs (rounded down), MB of memory and GPUs on each node.
 *
 * @throws InvalidInputError for a placement Slurm cannot provide: unequal numbers of GPUs on its nodes, or less than
 * one CPU
 */
export function requestOf(
  jobId: number,
  placement: readonly Seat[],
  { cpusPerGpu, memoryGbPerGpu }: Grant,
  nodes: readonly string[],
  gres: (gpus: number) => string,
): Pick<SlurmJobRequest, 'nodes' | 'cpusPerNode' | 'memoryMbPerNode' | 'gres'> {
  const { gpus } = placement[0]!
  if (placement.some((seat) => seat.gpus !== gpus)) {
    throw new InvalidInputError(
      `job ${jobId}: placement`,
      placement.map((seat) => seat.gpus).join(' + '),
      'equal numbers of GPUs on each node, as Slurm requires; use jobs that fit on one server or fill whole servers',
    )
  }
  // Tolerate rounding just below a whole number.
  const cpus = Math.floor(cpusPerGpu * gpus + 1e-6)
  if (cpus < 1) {
    throw new InvalidInputError(`job ${jobId}: CPUs`, cpusPerGpu * gpus, 'at least one CPU per job')
  }
  const memoryMb = Math.floor(memoryGbPerGpu * gpus * MB_OF_GB + 1e-6)
  return {
    nodes: placement.map(({ server }) => nodes[server]!),
    cpusPerNode: cpus,
    ...(memoryMb >= 1 ? { memoryMbPerNode: memoryMb } : {}),
    gres: gres(gpus),
  }
}
