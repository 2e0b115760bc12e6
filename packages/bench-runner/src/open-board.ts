import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { type Clock, type Gpu, type TenantPool, VirtualClock } from '@pctodl/platform'
import type { Cell } from './cell.js'
import type { BoardIdentity } from './manifest.js'

/** A board with everything that one run needs; whoever opens it closes it. */
export interface OpenBoard {
  readonly gpu: Gpu
  readonly pool: TenantPool
  readonly clock: Clock
  readonly identity: BoardIdentity
  /** Energy that really went into the board so far, J; simulated boards know it. */
  readonly trueEnergyJ?: () => number
  close(): Promise<void>
}

/** A cold simulated board for one run. */
export async function openBoard({ task, seed }: Pick<Cell, 'task' | 'seed'>): Promise<OpenBoard> {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(task.board, { clock, seed })
  const { uuid, driverVersion } = await gpu.info()
  return {
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    identity: { name: gpu.spec.name, uuid, driverVersion },
    trueEnergyJ: () => gpu.truth().energyJ,
    close: async () => {},
  }
}
