import path from 'node:path'
import { type Backend, openReal, openSimulated } from '@pctodl/backend'
import { findBoardVariant } from '@pctodl/gpu-sim'
import type { Cell } from './cell.js'
import type { Manifest } from './manifest.js'
import { boardName, contentOf } from './tasks.js'

/** Seed of a simulated board. Boards of the ensemble get different seeds, so that their sensor errors differ. */
export function boardSeed({ seed, variant = 0 }: Pick<Cell, 'seed' | 'variant'>): number {
  return seed + 1000 * variant
}

/**
 * Opens the board of a cell, with a cold chip if it is simulated. The caller must close it.
 *
 * @throws PctodlError `NO_BOARD` if a real board is requested and this machine has none of that type
 */
export async function openBoard(cell: Cell): Promise<Backend> {
  const { task, seed, real } = cell
  if (!real) return openSimulated({ gpu: boardName(cell), seed: boardSeed(cell) })
  const { worker, datasetPath } = real
  const dataset = datasetPath === undefined ? {} : { dataset: path.join(datasetPath, contentOf(task).dataset) }
  return openReal({ gpu: task.board, worker, seed, ...dataset })
}

export async function identityOf({ gpu, kind, inputs }: Backend, cell: Cell): Promise<Manifest['board']> {
  const { uuid, driverVersion } = await gpu.info()
  const name = boardName(cell)
  const variant = kind === 'sim' ? findBoardVariant(name) : undefined
  return {
    name: gpu.spec.name,
    uuid,
    driverVersion,
    tenants: kind === 'sim' ? 'simulated' : inputs,
    ...(variant ? { variant: name, differs: variant.differs } : {}),
  }
}
