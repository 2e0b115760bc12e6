import path from 'node:path'
import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { type Clock, type Gpu, type TenantPool, VirtualClock } from '@pctodl/platform'
import type { Cell, RealBoard } from './cell.js'
import type { BoardIdentity } from './manifest.js'
import type { BenchTask } from './tasks.js'

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

/** @throws PctodlError `NO_BOARD` where a real board is asked for and this machine has none of that type */
export function openBoard({ task, seed, real }: Pick<Cell, 'task' | 'seed' | 'real'>): Promise<OpenBoard> {
  return real ? openReal(task, seed, real) : openSimulated(task, seed)
}

/** A cold simulated board for one run. */
async function openSimulated(task: BenchTask, seed: number): Promise<OpenBoard> {
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(task.board, { clock, seed })
  const { uuid, driverVersion } = await gpu.info()
  return {
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    identity: { name: gpu.spec.name, uuid, driverVersion, tenants: 'simulated' },
    trueEnergyJ: () => gpu.truth().energyJ,
    close: async () => {},
  }
}

async function openReal(task: BenchTask, run: number, { worker, datasetPath }: RealBoard): Promise<OpenBoard> {
  // Loaded here, for it takes the driver's library and worker pools with it.
  const { openReal: openRealBackend } = await import('@pctodl/backend')
  const backend = await openRealBackend({
    gpu: task.board,
    worker,
    seed: run,
    ...(datasetPath === undefined ? {} : { dataset: path.join(datasetPath, task.dataset) }),
  })
  try {
    const { spec } = backend.gpu
    const { uuid, driverVersion } = await backend.gpu.info()
    return {
      gpu: backend.gpu,
      pool: backend.tenants,
      clock: backend.clock,
      identity: { name: spec.name, uuid, driverVersion, tenants: backend.inputs },
      close: () => backend.close(),
    }
  } catch (error) {
    await backend.close()
    throw error
  }
}
