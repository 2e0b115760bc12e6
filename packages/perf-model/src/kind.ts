import type { BoardConstants } from './board-constants.js'
import type { NetworkParameters } from './parameters.js'

/** Largest batch that the model accepts. */
export const MAX_BATCH_SIZE = 256

/** A kind of tenant, at a memory clock of the board and in a mix of a number of tenants. */
export interface TenantKind {
  /** Index of the network. */
  readonly network: number
  readonly sms: number
  readonly batchSize: number
  /** Index of the memory clock. */
  readonly memIndex: number
  readonly tenants: number
}

/**
 * Corrections of a kind: factors on speed and power, and variances of ln(speed) and ln(power) because the factors are
 * uncertain.
 */
export interface KindCorrections {
  readonly deviceSpeed: number
  readonly hostSpeed: number
  readonly dynamicPower: number
  readonly speedVariance: number
  readonly powerVariance: number
}

/**
 * Layout of the record of a kind: the quantities that depend neither on the co-runners nor on the SM clock. The records
 * of all kinds are in one `Float64Array`, `stride` numbers apart. Times and traffic are per batch. Layouts are enums, because
 * the bundler replaces them with numbers, and property look-ups took a sixth of a prediction.
 */
export enum KindField {
  /** Clock-bound device time, ms x MHz. */
  cycles,
  /** Square of this time at the top clock, ms^2. */
  topCycles2,
  /** Memory traffic that overlaps with arithmetic, MB, divided by the factor on the device's speed. */
  mixedMb,
  /** Memory traffic without overlap, MB, divided by the same factor. */
  streamMb,
  /** All memory traffic, not divided, MB. */
  trafficMb,
  /** Device time that does not depend on the clocks, ms. */
  gapMs,
  /** Launch time to the eighth power, ms^8. */
  launchMs8,
  /** Other host time, ms. */
  hostMs,
  /** The tenant's part of the time in which the host serves one batch of every tenant, ms. */
  hostShareMs,
  /** The inverse of the factor on the host's speed. */
  hostSlowdown,
  /** Time per MB that the tenant's own SMs need, ms x MHz. */
  ownCycles,
  sms,
  batchSize,
  /** Energy that scales with the square of the voltage, mJ. */
  coreEnergyMj,
  /** Energy of the DRAM traffic if all of it misses the caches, mJ. */
  memoryEnergyMj,
  /** Traffic that the counter of memory utilisation measures if all of it misses the caches, MB. */
  countedMb,
  /** Factors and variances of `KindCorrections`. */
  dynamicPower,
  speedVariance,
  powerVariance,
  /** Batch size, and as `logShare` the share, on a logarithmic scale from -1 to 1. */
  logBatch,
  logShare,
  /** Index of the network. */
  network,
  /**
   * Demands of a tenant that runs alone at the top clocks, without corrections: fraction of the time for launches,
   * fraction of the time for the rest of the host's work, and memory traffic if all of it misses the caches, MB/ms. Set
   * by `writeKind`.
   */
  launchDemand,
  hostDemand,
  mbPerMs,
  stride,
}

/** Write the record of a kind, except for its demands when it runs alone. */
export function writeRecord(
  { parameters: board, smCount, topClockMhz }: BoardConstants,
  of: NetworkParameters,
  { network, sms, batchSize }: Pick<TenantKind, 'network' | 'sms' | 'batchSize'>,
  { deviceSpeed, hostSpeed, dynamicPower, speedVariance, powerVariance }: KindCorrections,
  out: Float64Array,
  offset: number,
): void {
  const slower = 1 / deviceSpeed
  const served = 1 / hostSpeed
  const parallel = (of.computePerBatch + of.computePerSample * batchSize) / sms
  const serial = of.serialPerBatch + of.serialPerSample * batchSize
  // Mega-cycles over MHz are seconds, hence the factor from s to ms.
  const cycles = 1e3 * (parallel + serial) * slower
  const mixedMb = of.mixedMbPerBatch + of.mixedMbPerSample * batchSize
  const streamMb = of.streamMbPerSample * batchSize
  const launchMs2 = (of.launchMs * served) ** 2
  const largeBatch = 1 / (1 + (board.largeBatchKnee / batchSize) ** 8)
  const hostMs = of.hostPerSampleMs * batchSize * (1 + board.largeBatchHostFactor * largeBatch) * served
  out[offset + KindField.cycles] = cycles
  out[offset + KindField.topCycles2] = (cycles * (1 / topClockMhz)) ** 2
  out[offset + KindField.mixedMb] = mixedMb * slower
  out[offset + KindField.streamMb] = streamMb * slower
  out[offset + KindField.trafficMb] = mixedMb + streamMb
  out[offset + KindField.gapMs] = of.gapMs * slower
  out[offset + KindField.launchMs8] = launchMs2 * launchMs2 * launchMs2 * launchMs2
  out[offset + KindField.hostMs] = hostMs
  out[offset + KindField.hostShareMs] = hostMs / board.hostClients
  out[offset + KindField.hostSlowdown] = served
  // 1 MB at one byte a cycle takes 1e6 cycles, which are 1e3 ms at 1 MHz.
  out[offset + KindField.ownCycles] = 1e3 / (board.bytesPerCyclePerSm * sms)
  out[offset + KindField.sms] = sms
  out[offset + KindField.batchSize] = batchSize
  out[offset + KindField.coreEnergyMj] = of.coreEnergyMj * batchSize + of.batchEnergyMj
  out[offset + KindField.memoryEnergyMj] = of.memoryEnergyMj * batchSize
  out[offset + KindField.countedMb] = of.countedMbPerSample * batchSize
  out[offset + KindField.dynamicPower] = dynamicPower
  out[offset + KindField.speedVariance] = speedVariance
  out[offset + KindField.powerVariance] = powerVariance
  out[offset + KindField.logBatch] = (2 * Math.log(batchSize)) / Math.log(MAX_BATCH_SIZE) - 1
  out[offset + KindField.logShare] = (2 * Math.log((100 * sms) / smCount)) / Math.log(100) - 1
  out[offset + KindField.network] = network
}
