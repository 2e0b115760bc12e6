import { InvalidInputError } from '@pctodl/platform'
import type { ServerKind } from '../cluster/cluster.js'

/** Servers of one type of GPU. Servers are numbered from 0 in the order of the kinds. */
export interface MixedServerKind extends Omit<ServerKind, 'storageMBps'> {
  readonly gpuType: string
  /** Of one GPU without work, W. It is drawn in any case. */
  readonly idlePowerW: number
}

/** The servers one by one, in the order of their numbers. @throws InvalidInputError naming the field */
export function expandMixedServers(servers: readonly MixedServerKind[]): MixedServerKind[] {
  servers.forEach((kind, i) => {
    for (const field of ['count', 'gpus', 'cpus', 'memoryGb'] as const) {
      const isCount = field === 'count' || field === 'gpus'
      if (!(kind[field] > 0 && Number.isFinite(kind[field]) && (!isCount || Number.isInteger(kind[field])))) {
        throw new InvalidInputError(
          `servers[${i}].${field}`,
          kind[field],
          `a positive ${isCount ? 'integer' : 'number'}`,
        )
      }
    }
    if (!(kind.idlePowerW >= 0 && Number.isFinite(kind.idlePowerW))) {
      throw new InvalidInputError(`servers[${i}].idlePowerW`, kind.idlePowerW, 'watts of at least 0')
    }
  })
  const all = servers.flatMap((kind) => Array.from({ length: kind.count }, () => kind))
  if (all.length === 0) throw new InvalidInputError('servers', 'none', 'at least one')
  return all
}

/** What all GPUs draw without work, W. */
export function idleWattsOf(servers: readonly { readonly gpus: number; readonly idlePowerW: number }[]): number {
  return servers.reduce((sum, { gpus, idlePowerW }) => sum + gpus * idlePowerW, 0)
}
