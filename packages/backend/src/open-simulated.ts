import { SimulatedDesk, SimulatedGpu, type SimulatedGpuOptions, SimulatedTenants } from '@pctodl/gpu-sim'
import { VirtualClock } from '@pctodl/platform'
import type { Backend, TrafficOf } from './backend.js'

export interface SimulatedBackendOptions {
  /** Key, product name or alias of the board. */
  readonly gpu: string
  /** Seed of sensor error, noise and UUID. Default 1. */
  readonly seed?: number
  /** Request traffic of each service. If set, the result has a `desk`. Default: tenants run batches continuously. */
  readonly trafficOf?: TrafficOf
  /** Further options of the simulated board, such as precision, inputs and faults. */
  readonly board?: Omit<SimulatedGpuOptions, 'clock' | 'seed'>
}

/**
 * Opens a simulated board in virtual time. Simulated hours pass in seconds, and the same calls give the same readings.
 *
 * @throws UnknownNameError for a board that cannot be simulated
 */
export function openSimulated({ gpu: name, seed = 1, trafficOf, board = {} }: SimulatedBackendOptions): Backend {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(name, { ...board, clock, seed })
  const tenants = new SimulatedTenants(gpu)
  return {
    kind: 'sim',
    description: `simulated ${gpu.spec.name} (seed ${seed}), virtual time`,
    inputs: board.inputs ?? 'real',
    gpu,
    tenants,
    clock,
    ...(trafficOf ? { desk: new SimulatedDesk(gpu, trafficOf, { seed }) } : {}),
    livesInProcess: true,
    close: () => tenants.stop(),
  }
}
