import { given } from '@pctodl/command-line'
import { InvalidInputError } from '@pctodl/platform'
import type { MpsPlace } from './mps-place.js'

export interface ClientLimits {
  /** Maximum device memory by device number, bytes (whole MiB). The numbers are those that the client sees. */
  readonly pinnedMemoryBytes?: Readonly<Record<number, number>>
  /** Priority of the client: 0 normal, 1 below normal. */
  readonly priority?: 0 | 1
  /** Id of a static SM partition that the client uses. The server then ignores the percentage. */
  readonly smPartition?: string
}

/**
 * Returns the environment variables that make a process an MPS client with a share of the SMs, percent. A client reads
 * its share once, when it creates its CUDA context. `CUDA_VISIBLE_DEVICES` is not included: the daemon has its own, and
 * a client's value would select among the daemon's boards.
 * @throws InvalidInputError for an invalid percentage or limit
 */
export function clientEnvironment(
  place: Pick<MpsPlace, 'environment'>,
  percent: number,
  limits: ClientLimits = {},
): Record<string, string> {
  assertPercent(percent)
  const { pinnedMemoryBytes, priority, smPartition } = limits
  return {
    ...place.environment,
    CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: String(percent),
    ...given({
      CUDA_MPS_PINNED_DEVICE_MEM_LIMIT: pinnedMemoryBytes && memoryLimits(pinnedMemoryBytes),
      CUDA_MPS_CLIENT_PRIORITY: priority?.toString(),
      CUDA_MPS_SM_PARTITION: smPartition,
    }),
  }
}

export function assertPercent(percent: number): void {
  if (!(percent > 0 && percent <= 100)) {
    throw new InvalidInputError('percent', percent, 'an active thread percentage above 0 and at most 100')
  }
}

/** Formats a memory limit as the daemon expects it: whole MiB with the suffix `M`. @throws InvalidInputError */
function memoryLimit(bytes: number): string {
  const mebibytes = Math.floor(bytes / 1024 ** 2)
  if (!(mebibytes >= 1)) throw new InvalidInputError('pinnedMemoryBytes', bytes, 'at least 1 MiB')
  return `${mebibytes}M`
}

function memoryLimits(limits: Readonly<Record<number, number>>): string {
  return Object.entries(limits)
    .map(([device, bytes]) => `${device}=${memoryLimit(bytes)}`)
    .join(',')
}
