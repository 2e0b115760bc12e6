import type { SlurmJobRequest } from '@pctodl/job-array'
import { InvalidInputError } from '@pctodl/platform'
import type { Grant, Seat } from '../engine/actions.js'

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
