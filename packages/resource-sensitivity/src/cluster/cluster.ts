import { InvalidInputError } from '@pctodl/platform'
import { assertAtLeast, assertInteger, assertPositive } from '../checks.js'

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

export function countGpus(cluster: Cluster): number {
  return cluster.servers.reduce((sum, { count, gpus }) => sum + count * gpus, 0)
}

/** Idle power of all GPUs, W. */
export function idleWattsOf(cluster: Cluster): number {
  return cluster.servers.reduce((sum, { count, gpus, idlePowerW = 0 }) => sum + count * gpus * idlePowerW, 0)
}

export function countServers(cluster: Cluster): number {
  return cluster.servers.reduce((sum, { count }) => sum + count, 0)
}

/** The individual servers in numerical order. */
export function expandServers(cluster: Cluster): ServerKind[] {
  return cluster.servers.flatMap((kind) => Array.from({ length: kind.count }, () => kind))
}

export function assertCluster(cluster: Cluster): void {
  if (cluster.servers.length === 0)
    throw new InvalidInputError('cluster.servers', 'none', 'at least one kind of server')
  cluster.servers.forEach((kind, i) => {
    for (const field of ['count', 'gpus', 'cpus'] as const) {
      assertInteger(`cluster.servers[${i}].${field}`, kind[field])
    }
    if ((kind.gpuType === undefined) !== (cluster.servers[0]!.gpuType === undefined)) {
      throw new InvalidInputError(
        `cluster.servers[${i}].gpuType`,
        kind.gpuType,
        'a type for all kinds of servers or for none',
      )
    }
    assertAtLeast(`cluster.servers[${i}].idlePowerW`, kind.idlePowerW ?? 0, 0, 'watts')
    for (const field of ['memoryGb', 'storageMBps'] as const) {
      assertPositive(`cluster.servers[${i}].${field}`, kind[field])
    }
  })
}

/** A cluster with its kinds of servers in canonical order, so that the order in the file has no effect. */
export interface CanonicalCluster {
  readonly cluster: Cluster
  /** `inside[n]` is the number in this cluster of the server that the caller calls n; `outside` is the inverse. */
  readonly inside: readonly number[]
  readonly outside: readonly number[]
}

/** Sorts the kinds by GPU type, then by size, the largest servers first. */
export function inCanonicalOrder({ servers }: Cluster): CanonicalCluster {
  let next = 0
  const kinds = servers.map((kind) => {
    const numbers = Array.from({ length: kind.count }, (_, i) => next + i)
    next += kind.count
    return { kind, numbers }
  })
  kinds.sort((a, b) => compare(a.kind, b.kind))
  const outside = kinds.flatMap(({ numbers }) => numbers)
  const inside = new Array<number>(outside.length)
  outside.forEach((given, here) => {
    inside[given] = here
  })
  return { cluster: { servers: kinds.map(({ kind }) => kind) }, inside, outside }
}

function compare(a: ServerKind, b: ServerKind): number {
  const byType = (a.gpuType ?? '') < (b.gpuType ?? '') ? -1 : Number((a.gpuType ?? '') > (b.gpuType ?? ''))
  return byType || b.gpus - a.gpus || b.cpus - a.cpus || b.memoryGb - a.memoryGb || b.storageMBps - a.storageMBps
}
