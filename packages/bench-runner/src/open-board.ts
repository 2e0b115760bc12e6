import path from 'node:path'
import { findBoardVariant, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { type Clock, type Gpu, type TenantPool, VirtualClock } from '@pctodl/platform'
import { boardName } from './board-name.js'
import type { Cell, RealBoard } from './cell.js'
import type { BoardIdentity } from './manifest.js'
import type { BenchTask } from './tasks.js'

/** A board with everything that one run needs; whoever opens it closes it. */
export interface OpenBoard {
  readonly gpu: Gpu
  readonly pool: TenantPool
  readonly clock: Clock
  readonly identity: BoardIdentity
  /**
   * Energy that went into the board so far, J, every instant of it, in the watts of the board's own sensor, which are those of
   * its limits and caps; simulated boards know it.
   */
  readonly trueEnergyJ?: () => number
  close(): Promise<void>
}

/** @throws PctodlError `NO_BOARD` where a real board is asked for and this machine has none of that type */
export function openBoard(cell: Pick<Cell, 'task' | 'seed' | 'real' | 'variant'>): Promise<OpenBoard> {
  return cell.real ? openReal(cell.task, cell.seed, cell.real) : openSimulated(cell)
}

/** Seeds of unlike boards of the ensemble never meet, or their sensors would err alike. */
export const BENCH_SEEDS_APART = 1000

/** The simulated board of a cell, cold. */
export function simulatedGpu(cell: Pick<Cell, 'task' | 'seed' | 'variant'>, clock: VirtualClock): SimulatedGpu {
  return new SimulatedGpu(boardName(cell), { clock, seed: cell.seed + BENCH_SEEDS_APART * (cell.variant ?? 0) })
}

async function openSimulated(cell: Pick<Cell, 'task' | 'seed' | 'variant'>): Promise<OpenBoard> {
  const clock = new VirtualClock()
  const gpu = simulatedGpu(cell, clock)
  const { uuid, driverVersion } = await gpu.info()
  return {
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    identity: {
      name: gpu.spec.name,
      uuid,
      driverVersion,
      tenants: 'simulated',
      ...(cell.variant === undefined ? {} : { variant: gpu.name, differs: findBoardVariant(gpu.name)!.differs }),
    },
    trueEnergyJ: () => gpu.truth().meteredEnergyJ,
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
