import { gpuSpecs, PctodlError } from '@pctodl/platform'
import type { Backend, BackendKind, TrafficOf } from './backend.js'
import { isRealBoardId, openReal, type RealBackendOptions } from './open-real.js'
import { openSimulated, type SimulatedBackendOptions } from './open-simulated.js'

export interface BackendOptions {
  readonly kind: BackendKind
  /** Index, UUID or name of a real board, or name of a simulated one. */
  readonly gpu: string
  /** Seed of a simulated board, or of the images on a real one. Default 1. */
  readonly seed?: number
  /** Request traffic of each service. If set, the result has a `desk`. Default: tenants run batches continuously. */
  readonly trafficOf?: TrafficOf
  /** Only for a simulated board. */
  readonly simulated?: Omit<SimulatedBackendOptions, 'gpu' | 'seed' | 'trafficOf'>
  /** Only for a real board. */
  readonly real?: Omit<RealBackendOptions, 'gpu' | 'seed' | 'trafficOf'>
}

/**
 * Opens a simulated or a real board. With `auto` it opens the real one if the driver's library and the board exist,
 * else a simulated one. The result's `description` says which one and why.
 *
 * @throws UnknownNameError for an unknown board name; PctodlError `NO_BOARD` if the board is not in this machine and
 *   cannot be simulated
 */
export async function openBackend(options: BackendOptions): Promise<Backend> {
  const { kind, gpu, seed = 1 } = options
  const traffic = options.trafficOf ? { trafficOf: options.trafficOf } : {}
  const simulated = () => openSimulated({ ...options.simulated, ...traffic, gpu, seed })
  if (kind === 'sim') return simulated()
  const real = () => openReal({ ...options.real, ...traffic, gpu, seed })
  if (kind === 'nvml') return real()
  try {
    return await real()
  } catch (error) {
    if (!(error instanceof PctodlError && error.code === 'NO_BOARD')) throw error
    if (isRealBoardId(gpu)) {
      const boards = Object.keys(gpuSpecs).join(', ')
      throw new PctodlError('NO_BOARD', `${error.message}; name a board to simulate instead: ${boards}`, {
        cause: error,
      })
    }
    const backend = simulated()
    return { ...backend, description: `${backend.description}, because ${error.message}` }
  }
}
