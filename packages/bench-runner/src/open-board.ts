import path from 'node:path'
import { findBoardVariant, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { type Clock, type Gpu, type TenantPool, VirtualClock } from '@pctodl/platform'
import type { Cell, RealBoard } from './cell.js'
import type { BoardIdentity } from './manifest.js'
import { boardName } from './tasks.js'

/** An open board with its tenants and clock. The caller that opens it must close it. */
export interface OpenBoard {
  readonly gpu: Gpu
  readonly pool: TenantPool
  readonly clock: Clock
  readonly identity: BoardIdentity
  /**
   * Energy that the board has drawn so far, J, in the watts of its own sensor, like its limits and caps. Simulated
   * boards only.
   */
  readonly trueEnergyJ?: () => number
  close(): Promise<void>
}

/** Fields of a cell that decide which board it runs on. */
export interface BoardChoice extends Pick<Cell, 'seed' | 'real' | 'variant'> {
  readonly task: { readonly board: string; readonly dataset?: string }
}

/** @throws PctodlError `NO_BOARD` if a real board is requested and this machine has none of that type */
export function openBoard(choice: BoardChoice): Promise<OpenBoard> {
  return choice.real ? openReal(choice.task, choice.seed, choice.real) : openSimulated(choice)
}

/** Seed of a simulated board. Boards of the ensemble get different seeds, so that their sensor errors differ. */
export function boardSeed({ seed, variant = 0 }: Pick<BoardChoice, 'seed' | 'variant'>): number {
  return seed + 1000 * variant
}

/** The simulated board of a cell, with a cold chip. */
export function simulatedGpu(choice: BoardChoice, clock: VirtualClock): SimulatedGpu {
  return new SimulatedGpu(boardName(choice), { clock, seed: boardSeed(choice) })
}

async function openSimulated(choice: BoardChoice): Promise<OpenBoard> {
  const clock = new VirtualClock()
  const gpu = simulatedGpu(choice, clock)
  return {
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    identity: await simulatedIdentity(gpu),
    trueEnergyJ: () => gpu.truth().meteredEnergyJ,
    close: async () => {},
  }
}

async function simulatedIdentity(gpu: SimulatedGpu): Promise<BoardIdentity> {
  const { uuid, driverVersion } = await gpu.info()
  const variant = findBoardVariant(gpu.name)
  return {
    name: gpu.spec.name,
    uuid,
    driverVersion,
    tenants: 'simulated',
    ...(variant ? { variant: gpu.name, differs: variant.differs } : {}),
  }
}

async function openReal(
  task: BoardChoice['task'],
  run: number,
  { worker, datasetPath }: RealBoard,
): Promise<OpenBoard> {
  // Imported on demand, because it loads the driver's library and worker pools.
  const { openReal: openRealBackend } = await import('@pctodl/backend')
  const backend = await openRealBackend({
    gpu: task.board,
    worker,
    seed: run,
    ...(datasetPath === undefined ? {} : { dataset: path.join(datasetPath, task.dataset ?? '') }),
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
