import type { Cluster, ServerKind } from './cluster.js'

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
