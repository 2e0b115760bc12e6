import { type NetworkName, networkName } from '@pctodl/platform'

/** Configuration of Morak for one network. */
export interface MorakFigures {
  /** Latency objective of a batch, ms. */
  readonly sloMs: number
  /** Morak changes nothing while the power is between `alpha` times the cap and the cap. */
  readonly alpha: number
  /**
   * Latencies above `belta` times the objective are too long. The published configuration files spell the name like
   * this.
   */
  readonly belta: number
  /** MPS shares of the two tenants, percent. */
  readonly sharesPercent: readonly number[]
  /** Batch sizes to choose from, ascending. */
  readonly batchLadder: readonly number[]
}

/** Configuration of BatchDVFS for one network. */
export interface BatchDvfsFigures {
  readonly alpha: number
  readonly batchLadder: readonly number[]
}

const range = (from: number, to: number, step: number): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step)

const to32 = [1, 2, 4, 8, 16, 32]
/** The batch sizes 1, 2, 4, ..., 32, then every 16 up to 256: 20 batch sizes. */
export const standardBatchLadder: readonly number[] = [...to32, ...range(48, 256, 16)]
const above512 = [640, 768, 892, 1024]

/** Source: `morak` files of the model configurations in PctoDL's Python code (commit f7f9d87). */
export const publishedMorakFigures: Readonly<Record<NetworkName, MorakFigures>> = {
  mnasnet1_0: morak(60, 1, 0.98, [40, 40]),
  densenet201: morak(200, 0.98, 0.98, [60, 40]),
  efficientnet_v2_m: morak(500, 0.98, 0.9, [50, 50]),
  maxvit_t: morak(200, 0.98, 0.98, [40, 40]),
  mobilenet_v2: morak(120, 0.98, 0.9, [40, 40]),
  resnet50: morak(100, 0.98, 0.9, [40, 40]),
  vgg19: morak(180, 0.95, 0.9, [40, 40]),
}

/**
 * Source: `batchdvfs` files of the model configurations in PctoDL's Python code (commit f7f9d87). They contain the odd
 * batch size 892.
 */
export const publishedBatchDvfsFigures: Readonly<Record<NetworkName, BatchDvfsFigures>> = {
  mnasnet1_0: { alpha: 0.98, batchLadder: [...standardBatchLadder, 512] },
  densenet201: { alpha: 0.98, batchLadder: standardBatchLadder },
  efficientnet_v2_m: { alpha: 0.98, batchLadder: [...to32, ...range(64, 512, 32), ...above512] },
  maxvit_t: { alpha: 0.98, batchLadder: standardBatchLadder },
  mobilenet_v2: { alpha: 0.98, batchLadder: standardBatchLadder },
  resnet50: { alpha: 0.98, batchLadder: [...standardBatchLadder, ...range(288, 512, 32), ...above512] },
  vgg19: { alpha: 0.98, batchLadder: standardBatchLadder },
}

/**
 * Form of a baseline. `published` keeps the configuration and behaviour of the Python code. `fair` corrects its
 * mistakes, and gives every algorithm the whole GPU at the highest memory clock. `tuned` is `fair` with all means that
 * pctodl also has (memory clock, board limit, a planned start). For comparisons use the tuned form.
 */
export type BaselineVariant = 'fair' | 'published' | 'tuned'

/**
 * Returns the figures of Morak for a network.
 * @throws UnknownNameError for a network without figures
 */
export function morakFigures(model: string, variant: BaselineVariant): MorakFigures {
  const published = publishedMorakFigures[networkName(model)]
  if (variant === 'published') return published
  // With alpha = 1, there is no band in which Morak changes nothing, so that it oscillates.
  return { ...published, alpha: Math.min(published.alpha, 0.98), sharesPercent: [50, 50] }
}

/**
 * Returns the figures of BatchDVFS for a network.
 * @throws UnknownNameError for a network without figures
 */
export function batchDvfsFigures(model: string): BatchDvfsFigures {
  return publishedBatchDvfsFigures[networkName(model)]
}

function morak(sloMs: number, alpha: number, belta: number, sharesPercent: readonly number[]): MorakFigures {
  return { sloMs, alpha, belta, sharesPercent, batchLadder: standardBatchLadder }
}
