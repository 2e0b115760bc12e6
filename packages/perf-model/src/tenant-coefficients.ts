import type { BoardConstants } from './board-constants.js'
import type { NetworkParameters } from './parameters.js'

/** Largest batch that the model accepts. */
export const MAX_BATCH_SIZE = 256

/**
 * Layout of the coefficients of a kind of tenant: the demands of a tenant with a given network, SM count and batch
 * size, independent of clocks and co-runners. They are computed once per kind. All kinds are in one `Float64Array`,
 * `stride` numbers apart.
 */
export const tenantLayout = {
  /** Clock-bound device time, ms x MHz. */
  cycles: 0,
  /** Memory traffic that overlaps with arithmetic, MB per batch. */
  mixedMb: 1,
  /** Memory traffic without overlap, MB per batch. */
  streamMb: 2,
  /** Device time per batch that no clock changes, ms. */
  gapMs: 3,
  /** Host time to launch a batch, ms. */
  launchMs: 4,
  /** Other host time per batch, ms. */
  hostMs: 5,
  /** Time per MB that the tenant's own SMs need, ms x MHz. */
  ownCycles: 6,
  /**
   * Fraction of the time that the host launches the tenant's kernels, if it runs alone at the top clocks, 0..1. Set by
   * `writeKind`.
   */
  launchDemand: 7,
  /**
   * Fraction of the time that the rest of the host's work takes, if the tenant runs alone at the top clocks, 0..1. Set
   * by `writeKind`.
   */
  hostDemand: 8,
  sms: 9,
  batchSize: 10,
  /** Energy of a batch that scales with the square of the voltage, mJ. */
  coreEnergyMj: 11,
  /** Energy of a batch's DRAM traffic if all of it misses the caches, mJ. */
  memoryEnergyMj: 12,
  /** Memory traffic per batch that the counter of memory utilisation measures if all of it misses the caches, MB. */
  countedMb: 13,
  /**
   * Memory traffic of the tenant alone at the top clocks, if all of it misses the caches, MB/ms. Set by `writeKind`.
   */
  mbPerMs: 14,
  /** Batch size, and as `logShare` the share, on a logarithmic scale from -1 to 1. */
  logBatch: 15,
  logShare: 16,
  /** Index of the network. */
  network: 17,
  stride: 18,
} as const

/** A kind of tenant: index of its network, number of SMs and batch size. */
export interface TenantKind {
  readonly network: number
  readonly sms: number
  readonly batchSize: number
}

const at = tenantLayout

/** Write one kind's coefficients except its demands and `mbPerMs`, which `writeKind` adds. */
export function writeTenantCoefficients(
  { parameters: board, smCount }: BoardConstants,
  network: NetworkParameters,
  { network: index, sms, batchSize }: TenantKind,
  out: Float64Array,
  offset: number,
): void {
  const parallel = (network.computePerBatch + network.computePerSample * batchSize) / sms
  const serial = network.serialPerBatch + network.serialPerSample * batchSize
  // Mega-cycles over MHz are seconds, hence the factor from s to ms.
  out[offset + at.cycles] = 1e3 * (parallel + serial)
  out[offset + at.mixedMb] = network.mixedMbPerBatch + network.mixedMbPerSample * batchSize
  out[offset + at.streamMb] = network.streamMbPerSample * batchSize
  out[offset + at.gapMs] = network.gapMs
  out[offset + at.launchMs] = network.launchMs
  const largeBatch = 1 / (1 + (board.largeBatchKnee / batchSize) ** 8)
  out[offset + at.hostMs] = network.hostPerSampleMs * batchSize * (1 + board.largeBatchHostFactor * largeBatch)
  // 1 MB at one byte a cycle takes 1e6 cycles, which are 1e3 ms at 1 MHz.
  out[offset + at.ownCycles] = 1e3 / (board.bytesPerCyclePerSm * sms)
  out[offset + at.sms] = sms
  out[offset + at.batchSize] = batchSize
  out[offset + at.coreEnergyMj] = network.coreEnergyMj * batchSize + network.batchEnergyMj
  out[offset + at.memoryEnergyMj] = network.memoryEnergyMj * batchSize
  out[offset + at.countedMb] = network.countedMbPerSample * batchSize
  out[offset + at.logBatch] = (2 * Math.log(batchSize)) / Math.log(MAX_BATCH_SIZE) - 1
  out[offset + at.logShare] = (2 * Math.log((100 * sms) / smCount)) / Math.log(100) - 1
  out[offset + at.network] = index
}
