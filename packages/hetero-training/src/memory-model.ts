import { InvalidInputError } from '@pctodl/platform'
import { fitLine } from './fit-line.js'

/** What training takes of a GPU's memory: a fixed part, and so much for each sample that is in it at once. */
export interface MemoryModel {
  readonly capacityBytes: number
  /** Weights, gradients, optimizer states, context. */
  readonly fixedBytes: number
  /** Activations kept for the backward pass. */
  readonly bytesPerSample: number
}

/**
 * The most samples that fit at once.
 *
 * @throws InvalidInputError for sizes that are none, and where not even one sample fits
 */
export function largestMicroBatch(memory: MemoryModel, name = 'memory'): number {
  const { capacityBytes, fixedBytes, bytesPerSample } = memory
  for (const [field, bytes, least] of [
    ['capacityBytes', capacityBytes, 'positive'],
    ['fixedBytes', fixedBytes, 'not negative'],
    ['bytesPerSample', bytesPerSample, 'positive'],
  ] as const) {
    if (!(Number.isFinite(bytes) && (least === 'positive' ? bytes > 0 : bytes >= 0))) {
      throw new InvalidInputError(`${name}.${field}`, bytes, `bytes, ${least}`)
    }
  }
  const samples = Math.floor((capacityBytes - fixedBytes) / bytesPerSample)
  if (samples < 1) {
    throw new InvalidInputError(
      `${name}.capacityBytes`,
      capacityBytes,
      `at least ${fixedBytes + bytesPerSample}: one sample must fit`,
    )
  }
  return samples
}

/**
 * The fixed part and that of a sample from peaks that were measured (`torch.cuda.max_memory_allocated()`), by least squares.
 *
 * @param peaks of at least two different batch sizes
 * @throws InvalidInputError for fewer, and for memory that does not grow with the batch
 */
export function fitMemoryModel(
  capacityBytes: number,
  peaks: readonly { readonly batchSize: number; readonly peakBytes: number }[],
): MemoryModel {
  if (new Set(peaks.map(({ batchSize }) => batchSize)).size < 2) {
    throw new InvalidInputError('peaks', peaks.length, 'peaks of at least two different batch sizes')
  }
  const { intercept, slope: bytesPerSample } = fitLine(
    peaks.map(({ batchSize }) => batchSize),
    peaks.map(({ peakBytes }) => peakBytes),
  )
  if (!(bytesPerSample > 0)) {
    const seen = peaks.map(({ batchSize, peakBytes }) => `${peakBytes} of ${batchSize}`).join(', ')
    throw new InvalidInputError('peaks', seen, 'peaks that grow with the batch')
  }
  return { capacityBytes, fixedBytes: Math.max(0, intercept), bytesPerSample }
}
