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
 * of all kinds are in one `Float64Array`, `stride` numbers apart. Times and traffic are per batch.
 */
export const kindLayout = {
  /** Clock-bound device time, ms x MHz. */
  cycles: 0,
  /** Square of this time at the top clock, ms^2. */
  topCycles2: 1,
  /** Memory traffic that overlaps with arithmetic, MB, divided by the factor on the device's speed. */
  mixedMb: 2,
  /** Memory traffic without overlap, MB, divided by the same factor. */
  streamMb: 3,
  /** All memory traffic, not divided, MB. */
  trafficMb: 4,
  /** Device time that does not depend on the clocks, ms. */
  gapMs: 5,
  /** Launch time to the eighth power, ms^8. */
  launchMs8: 6,
  /** Other host time, ms. */
  hostMs: 7,
  /** The tenant's part of the time in which the host serves one batch of every tenant, ms. */
  hostShareMs: 8,
  /** The inverse of the factor on the host's speed. */
  hostSlowdown: 9,
  /** Time per MB that the tenant's own SMs need, ms x MHz. */
  ownCycles: 10,
  sms: 11,
  batchSize: 12,
  /** Energy that scales with the square of the voltage, mJ. */
  coreEnergyMj: 13,
  /** Energy of the DRAM traffic if all of it misses the caches, mJ. */
  memoryEnergyMj: 14,
  /** Traffic that the counter of memory utilisation measures if all of it misses the caches, MB. */
  countedMb: 15,
  /** Factors and variances of `KindCorrections`. */
  dynamicPower: 16,
  speedVariance: 17,
  powerVariance: 18,
  /** Batch size, and as `logShare` the share, on a logarithmic scale from -1 to 1. */
  logBatch: 19,
  logShare: 20,
  /** Index of the network. */
  network: 21,
  /**
   * Demands of a tenant that runs alone at the top clocks, without corrections: fraction of the time for launches,
   * fraction of the time for the rest of the host's work, and memory traffic if all of it misses the caches, MB/ms. Set
   * by `writeKind`.
   */
  launchDemand: 22,
  hostDemand: 23,
  mbPerMs: 24,
  stride: 25,
} as const

const at = kindLayout

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
  out[offset + at.cycles] = cycles
  out[offset + at.topCycles2] = (cycles * (1 / topClockMhz)) ** 2
  out[offset + at.mixedMb] = mixedMb * slower
  out[offset + at.streamMb] = streamMb * slower
  out[offset + at.trafficMb] = mixedMb + streamMb
  out[offset + at.gapMs] = of.gapMs * slower
  out[offset + at.launchMs8] = launchMs2 * launchMs2 * launchMs2 * launchMs2
  out[offset + at.hostMs] = hostMs
  out[offset + at.hostShareMs] = hostMs / board.hostClients
  out[offset + at.hostSlowdown] = served
  // 1 MB at one byte a cycle takes 1e6 cycles, which are 1e3 ms at 1 MHz.
  out[offset + at.ownCycles] = 1e3 / (board.bytesPerCyclePerSm * sms)
  out[offset + at.sms] = sms
  out[offset + at.batchSize] = batchSize
  out[offset + at.coreEnergyMj] = of.coreEnergyMj * batchSize + of.batchEnergyMj
  out[offset + at.memoryEnergyMj] = of.memoryEnergyMj * batchSize
  out[offset + at.countedMb] = of.countedMbPerSample * batchSize
  out[offset + at.dynamicPower] = dynamicPower
  out[offset + at.speedVariance] = speedVariance
  out[offset + at.powerVariance] = powerVariance
  out[offset + at.logBatch] = (2 * Math.log(batchSize)) / Math.log(MAX_BATCH_SIZE) - 1
  out[offset + at.logShare] = (2 * Math.log((100 * sms) / smCount)) / Math.log(100) - 1
  out[offset + at.network] = network
}
