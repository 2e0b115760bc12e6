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
  /** By index, without boards that do not respond. */
  readonly gpus: readonly DetectedGpu[]
  /** Why there are no boards, and which do not respond, in words. */
  readonly notes: readonly string[]
}

/**
 * Boards of this machine according to NVML; without a driver none, and a note. Nothing is opened or changed.
 *
 * @throws NvmlError where there is a driver and it fails
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
