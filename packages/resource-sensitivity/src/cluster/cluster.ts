import { InvalidInputError } from '@pctodl/platform'

/** One kind of server, and how many of it there are. */
export interface ServerKind {
  readonly count: number
  readonly gpus: number
  readonly cpus: number
  readonly memoryGb: number
  /** Read bandwidth of the server's storage. Only the published simulator counts it as a resource. */
  readonly storageMBps: number
  /** Type of the GPUs, by which profiles know them: of all kinds or of none. */
  readonly gpuType?: string
  /** Drawn by one GPU without work, W. Default 0. */
  readonly idlePowerW?: number
}

/** Servers are numbered from 0 in the order of the kinds. */
export interface Cluster {
  readonly servers: readonly ServerKind[]
}

export function countGpus(cluster: Cluster): number {
  return cluster.servers.reduce((sum, { count, gpus }) => sum + count * gpus, 0)
}

/** What all GPUs draw without work, W. */
export function idleWattsOf(cluster: Cluster): number {
  return cluster.servers.reduce((sum, { count, gpus, idlePowerW = 0 }) => sum + count * gpus * idlePowerW, 0)
}

export function countServers(cluster: Cluster): number {
  return cluster.servers.reduce((sum, { count }) => sum + count, 0)
}

/** The servers one by one, in the order of their numbers. */
export function expandServers(cluster: Cluster): ServerKind[] {
  return cluster.servers.flatMap((kind) => Array.from({ length: kind.count }, () => kind))
}

/** @throws InvalidInputError naming the field */
export function assertCluster(cluster: Cluster): void {
  if (cluster.servers.length === 0)
    throw new InvalidInputError('cluster.servers', 'none', 'at least one kind of server')
  cluster.servers.forEach((kind, i) => {
    for (const field of ['count', 'gpus', 'cpus'] as const) {
      if (!(Number.isInteger(kind[field]) && kind[field] >= 1)) {
        throw new InvalidInputError(`cluster.servers[${i}].${field}`, kind[field], 'an integer of at least 1')
      }
    }
    if ((kind.gpuType === undefined) !== (cluster.servers[0]!.gpuType === undefined)) {
      throw new InvalidInputError(
        `cluster.servers[${i}].gpuType`,
        kind.gpuType,
        'a type for all kinds of servers, or for none',
      )
    }
    if (!((kind.idlePowerW ?? 0) >= 0)) {
      throw new InvalidInputError(`cluster.servers[${i}].idlePowerW`, kind.idlePowerW, 'watts of at least 0')
    }
    for (const field of ['memoryGb', 'storageMBps'] as const) {
      if (!(kind[field] > 0 && Number.isFinite(kind[field]))) {
        throw new InvalidInputError(`cluster.servers[${i}].${field}`, kind[field], 'a positive number')
      }
    }
  })
}

/** A cluster with its kinds in an order that does not depend on the file's. */
export interface CanonicalCluster {
  readonly cluster: Cluster
  /** Number of a server as given -> its number here, and back. */
  readonly inside: readonly number[]
  readonly outside: readonly number[]
}

/** The largest servers first; kinds that are alike stay in their order, which then means nothing. */
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
