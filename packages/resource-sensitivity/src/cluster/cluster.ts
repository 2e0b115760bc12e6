import { InvalidInputError } from '@pctodl/platform'

/** One kind of server, and how many of it there are. */
export interface ServerKind {
  readonly count: number
  readonly gpus: number
  readonly cpus: number
  readonly memoryGb: number
  /** Read bandwidth of the server's storage. Only the published simulator counts it as a resource. */
  readonly storageMBps: number
}

/** Servers are numbered from 0 in the order of the kinds. */
export interface Cluster {
  readonly servers: readonly ServerKind[]
}

export function countGpus(cluster: Cluster): number {
  return cluster.servers.reduce((sum, { count, gpus }) => sum + count * gpus, 0)
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
    for (const field of ['memoryGb', 'storageMBps'] as const) {
      if (!(kind[field] > 0 && Number.isFinite(kind[field]))) {
        throw new InvalidInputError(`cluster.servers[${i}].${field}`, kind[field], 'a positive number')
      }
    }
  })
}
