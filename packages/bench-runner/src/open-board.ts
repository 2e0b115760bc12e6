import path from 'node:path'
import { type Backend, openReal, openSimulated } from '@pctodl/backend'
import { findBoardVariant } from '@pctodl/gpu-sim'
import type { Cell } from './cell.js'
import type { BoardIdentity } from './manifest.js'
import { boardName } from './tasks.js'

/** Fields of a cell that decide which board it runs on. */
export interface BoardChoice extends Pick<Cell, 'seed' | 'real' | 'variant'> {
  readonly task: { readonly board: string; readonly dataset?: string }
}

/** Seed of a simulated board. Boards of the ensemble get different seeds, so that their sensor errors differ. */
export function boardSeed({ seed, variant = 0 }: Pick<BoardChoice, 'seed' | 'variant'>): number {
  return seed + 1000 * variant
}

/**
 * Open the board of a cell, with a cold chip if it is simulated. The caller must close it.
 *
 * @throws PctodlError `NO_BOARD` if a real board is requested and this machine has none of that type
 */
export async function openBoard(choice: BoardChoice): Promise<Backend> {
  const { task, seed, real } = choice
  if (!real) return openSimulated({ gpu: boardName(choice), seed: boardSeed(choice) })
  const { worker, datasetPath } = real
  const dataset = datasetPath === undefined ? {} : { dataset: path.join(datasetPath, task.dataset ?? '') }
  return openReal({ gpu: task.board, worker, seed, ...dataset })
}

export async function identityOf({ gpu, kind, inputs }: Backend, choice: BoardChoice): Promise<BoardIdentity> {
  const { uuid, driverVersion } = await gpu.info()
  const name = boardName(choice)
  const variant = kind === 'sim' ? findBoardVariant(name) : undefined
  return {
    name: gpu.spec.name,
    uuid,
    driverVersion,
    tenants: kind === 'sim' ? 'simulated' : inputs,
    ...(variant ? { variant: name, differs: variant.differs } : {}),
  }
}
