import { gpuSpecs, PctodlError } from '@pctodl/platform'
import type { Backend, BackendKind, TrafficOf } from './backend.js'
import { isRealBoardId, openReal, type RealBackendOptions } from './open-real.js'
import { openSimulated, type SimulatedBackendOptions } from './open-simulated.js'

export interface BackendOptions {
  readonly kind: BackendKind
  /** Index, UUID or name of a real board, or name of a simulated one. */
  readonly gpu: string
  /** Seed of a simulated board, and of the images on a real one. Default 1. */
  readonly seed?: number
  /** Source of requests for services; `desk` of the result then exists. Default: tenants run batch after batch. */
  readonly trafficOf?: TrafficOf
  /** Only for a simulated board. */
  readonly simulated?: Omit<SimulatedBackendOptions, 'gpu' | 'seed' | 'trafficOf'>
  /** Only for a real board. */
  readonly real?: Omit<RealBackendOptions, 'gpu' | 'seed' | 'trafficOf'>
}

/**
 * Open a board: simulated, real, or with `auto` real if the driver's library and the board exist, else simulated.
 * `description` of the result tells which one and why.
 *
 * @throws UnknownNameError for a board that nobody knows, PctodlError `NO_BOARD` where neither can be had
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
