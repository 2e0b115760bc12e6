import { readNote, type SlurmJobRequest } from '@pctodl/job-array'
import { InvalidInputError } from '@pctodl/platform'
import { z } from 'zod'
import type { Grant, Seat } from '../engine/actions.js'

/** With this code a job says: I was told to stop, and have saved what I have done. (sysexits knows it as nothing of its own.) */
export const SAVED_EXIT_CODE = 85

export interface CheckpointContract {
  /** Where it says what it has saved: `{"doneIterations": 120}`, replaced whole. What else it saves is its own matter. */
  readonly checkpointFile: string
  /** Of the whole job, those done before included. */
  readonly iterations: number
  readonly jobId: number
  /** Which start of the job this is, from 1. */
  readonly run: number
  readonly gpus: number
  readonly cpus: number
  /** Where watts are shared out: of each GPU, node by node, at the start; they may change while the job runs. */
  readonly powerLimitsW?: readonly number[]
}

export function contractEnvironment(contract: CheckpointContract): Record<string, string> {
  const { checkpointFile, iterations, jobId, run, gpus, cpus, powerLimitsW } = contract
  return {
    PCTODL_CHECKPOINT: checkpointFile,
    PCTODL_ITERATIONS: String(iterations),
    PCTODL_JOB: String(jobId),
    PCTODL_RUN: String(run),
    PCTODL_GPUS: String(gpus),
    PCTODL_CPUS: String(cpus),
    ...(powerLimitsW && { PCTODL_POWER_LIMIT_W: powerLimitsW.join(',') }),
  }
}

const checkpoint = z.object({ doneIterations: z.number().min(0) })

/** What a job has saved, undefined where it has saved nothing that can be read: then it begins anew. */
export function readCheckpoint(file: string): number | undefined {
  try {
    const text = readNote(file)
    return text === undefined ? undefined : checkpoint.parse(JSON.parse(text)).doneIterations
  } catch {
    return undefined
  }
}

/** GB of a cluster file in Slurm's MB, rounded down so that the shares of a node never exceed it. */
const MB_OF_GB = 1000

/**
 * What Slurm is asked for so that a job has what the engine gives it: whole CPUs (rounded down), MB of memory and GPUs on each node.
 *
 * @throws InvalidInputError for a place that Slurm cannot give a job: different numbers of GPUs on its nodes, or less than a CPU
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
      'as many GPUs on each node: Slurm gives all nodes of a job the same; let jobs fit on one server or whole servers',
    )
  }
  // A hair below a whole number is one.
  const cpus = Math.floor(cpusPerGpu * gpus + 1e-6)
  if (cpus < 1) {
    throw new InvalidInputError(`job ${jobId}: CPUs`, cpusPerGpu * gpus, 'at least one CPU for each job')
  }
  const memoryMb = Math.floor(memoryGbPerGpu * gpus * MB_OF_GB + 1e-6)
  return {
    nodes: placement.map(({ server }) => nodes[server]!),
    cpusPerNode: cpus,
    ...(memoryMb >= 1 ? { memoryMbPerNode: memoryMb } : {}),
    gres: gres(gpus),
  }
}
