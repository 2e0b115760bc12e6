import { type BoardFacts, listGpus } from '@pctodl/nvml-control'
import { findGpuSpec, UnknownNameError } from '@pctodl/platform'
import { whyNoDriver } from './why-no-driver.js'

/** A board in this machine. */
export interface DetectedGpu {
  /** NVML's index, from 0. */
  readonly index: number
  /** Product name, e.g. `NVIDIA A100-PCIE-40GB`. */
  readonly name: string
  readonly uuid: string
  /** Key of the board type, e.g. `A100`; null for an unknown type. */
  readonly key: string | null
}

export interface Detection {
  /** Boards in the order of their index, without those that do not respond. */
  readonly gpus: readonly DetectedGpu[]
  /** Messages that say why no board was found, or which boards do not respond. */
  readonly notes: readonly string[]
}

/**
 * Lists the boards that NVML finds in this machine. Without a driver the list is empty and a note says so. Opens and
 * changes no board.
 *
 * @throws NvmlError if a driver is present but fails
 */
export function detectGpus(): Detection {
  let boards: ReturnType<typeof listGpus>
  try {
    boards = listGpus()
  } catch (error) {
    return { gpus: [], notes: [whyNoDriver(error)] }
  }
  const gpus = boards.filter((board): board is BoardFacts => 'name' in board)
  const lost = boards.flatMap((board) => ('name' in board ? [] : [`board ${board.index}: ${String(board.error)}`]))
  return {
    gpus: gpus.map(({ index, name, uuid }) => ({ index, name, uuid, key: keyOf(name) })),
    notes: boards.length === 0 ? ['the NVIDIA driver knows no board'] : lost,
  }
}

function keyOf(name: string): string | null {
  try {
    return findGpuSpec(name).key
  } catch (error) {
    if (error instanceof UnknownNameError) return null
    throw error
  }
}
