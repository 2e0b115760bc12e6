import { InvalidInputError } from '@pctodl/platform'
import { assertAtLeast, assertInteger, assertPositive } from './errors.js'

export interface ServerKind {
  readonly count: number
  readonly gpus: number
  readonly cpus: number
  readonly memoryGb: number
  /** Read bandwidth of the server's storage. Only the published simulator treats it as a resource. */
  readonly storageMBps: number
  /** GPU type, as named in profiles. Set for all kinds or for none. */
  readonly gpuType?: string
  /** Idle power of one GPU, W. Default 0. */
  readonly idlePowerW?: number
}

/** Servers are numbered from 0 in the order of the kinds. */
export interface Cluster {
  readonly servers: readonly ServerKind[]
}

/** Sums over all servers; `idleW` is the idle power of all GPUs. */
export interface ClusterTotals {
  readonly servers: number
  readonly gpus: number
  readonly cpus: number
  readonly memoryGb: number
  readonly idleW: number
}

export function totals({ servers }: Cluster): ClusterTotals {
  const total = { servers: 0, gpus: 0, cpus: 0, memoryGb: 0, idleW: 0 }
  for (const { count, gpus, cpus, memoryGb, idlePowerW = 0 } of servers) {
    total.servers += count
    total.gpus += count * gpus
    total.cpus += count * cpus
    total.memoryGb += count * memoryGb
    total.idleW += count * gpus * idlePowerW
  }
  return total
}

/** The individual servers in numerical order. */
export function expandServers(cluster: Cluster): ServerKind[] {
  return cluster.servers.flatMap((kind) => Array.from({ length: kind.count }, () => kind))
}

/** A larger number is probably a mistake, and would fill the memory. */
const MAX_GPUS = 1e6

export function assertCluster({ servers }: Cluster): void {
  if (servers.length === 0) throw new InvalidInputError('cluster.servers', 'none', 'at least one kind of server')
  servers.forEach((kind, i) => {
    const place = `cluster.servers[${i}]`
    for (const field of ['count', 'gpus', 'cpus'] as const) assertInteger(`${place}.${field}`, kind[field])
    if ((kind.gpuType === undefined) !== (servers[0]!.gpuType === undefined)) {
      throw new InvalidInputError(`${place}.gpuType`, kind.gpuType, 'a type for all kinds of servers or for none')
    }
    assertAtLeast(`${place}.idlePowerW`, kind.idlePowerW ?? 0, 0, 'watts')
    // With less memory, jobs would make almost no progress.
    assertAtLeast(`${place}.memoryGb`, kind.memoryGb, 0.001, 'GB')
    assertPositive(`${place}.storageMBps`, kind.storageMBps)
  })
  const { gpus } = totals({ servers })
  if (gpus > MAX_GPUS) throw new InvalidInputError('cluster', `${gpus} GPUs`, `at most ${MAX_GPUS}`)
}
