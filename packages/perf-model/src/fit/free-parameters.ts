import type { BoardParameters, NetworkParameters } from '../parameters.js'

type NumericKeys<T> = { [K in keyof T]: T[K] extends number ? K : never }[keyof T]

/**
 * One parameter that a fit may change. All are positive, and the fit changes their logarithms, so its steps are
 * relative.
 */
export interface FreeParameter<Key> {
  readonly key: Key
  readonly lower: number
  readonly upper: number
}

export type FreeBoardParameter = FreeParameter<NumericKeys<BoardParameters> | 'idlePowerW'>
export type FreeNetworkParameter = FreeParameter<NumericKeys<NetworkParameters>>

/** Free parameters of one stage of the fit. */
export interface FreeParameters {
  readonly board: readonly FreeBoardParameter[]
  readonly network: readonly FreeNetworkParameter[]
}

const free = <Key>(key: Key, lower: number, upper: number): FreeParameter<Key> => ({ key, lower, upper })

/** Stage 1: parameters of time. Small terms may be absent: their lower bounds are so small that they count as zero. */
export const throughputParameters: FreeParameters = {
  board: [
    free('bytesPerCyclePerSm', 1, 200),
    free('bandwidthCeiling', 0.1, 1),
    free('cacheReachMb', 1, 1e5),
    free('launchClients', 1, 100),
    free('hostClients', 1, 100),
    free('largeBatchHostFactor', 1e-3, 3),
    free('largeBatchKnee', 10, 120),
  ],
  network: [
    free('computePerSample', 0.01, 3000),
    free('computePerBatch', 0.01, 30_000),
    free('serialPerBatch', 1e-3, 100),
    free('serialPerSample', 1e-4, 10),
    free('mixedMbPerSample', 0.1, 5000),
    free('mixedMbPerBatch', 0.1, 5000),
    free('streamMbPerSample', 0.1, 5000),
    free('gapMs', 1e-3, 100),
    free('launchMs', 0.1, 200),
    free('hostPerSampleMs', 1e-3, 5),
  ],
}

/** Stage 2: parameters that turn activity into power. */
export const powerParameters: FreeParameters = {
  board: [
    free('idlePowerW', 5, 250),
    free('clockTreePowerW', 0.1, 300),
    free('smPowerW', 1e-3, 10),
    free('voltageSlope', 0.05, 2),
    free('voltageBend', 1e-3, 3),
    free('voltageFloor', 0.2, 1),
  ],
  network: [free('coreEnergyMj', 0.01, 3000), free('batchEnergyMj', 0.01, 10_000), free('memoryEnergyMj', 0.01, 3000)],
}

/** Stage 3: memory traffic as the counter of memory utilisation measures it. */
export const utilisationParameters: FreeParameters = { board: [], network: [free('countedMbPerSample', 0.1, 10_000)] }

/** Parameters of a network without the corrections of its residuals. */
export type UncorrectedNetwork = Omit<NetworkParameters, 'hostSpeed' | 'corrections'>

/** Starting parameters of a board; a multi-start draws further points around them. */
export function startBoard(memClocksMhz: readonly number[]): BoardParameters {
  return {
    bytesPerCyclePerSm: 10,
    bandwidthCeiling: 0.6,
    cacheReachMb: 200,
    launchClients: 7,
    hostClients: 10,
    largeBatchHostFactor: 0.3,
    largeBatchKnee: 45,
    idlePowerW: memClocksMhz.map((memClockMhz) => ({ memClockMhz, powerW: 60 })),
    clockTreePowerW: 30,
    smPowerW: 0.4,
    voltageSlope: 0.7,
    voltageBend: 0.2,
    voltageFloor: 0.6,
    memoryReservedMib: 0,
  }
}

/**
 * Starting parameters of a network. A fit has several local minima, because a gap on the device looks like launch time
 * on the host. Two measured bounds put the start near the right minimum.
 *
 * @param minBatchMs shortest measured batch time, ms; it is slightly above the launch time
 * @param minCycles fewest measured SM mega-cycles per sample; an upper bound on the arithmetic
 */
export function startNetwork(name: string, minBatchMs: number, minCycles: number): UncorrectedNetwork {
  return {
    name,
    computePerSample: 0.4 * minCycles,
    computePerBatch: 0.2 * minCycles,
    serialPerBatch: 0.1 * minBatchMs,
    serialPerSample: 0.01,
    mixedMbPerSample: 40,
    mixedMbPerBatch: 40,
    streamMbPerSample: 60,
    gapMs: 0.25 * minBatchMs,
    launchMs: 0.9 * minBatchMs,
    hostPerSampleMs: 0.1,
    coreEnergyMj: 30,
    batchEnergyMj: 20,
    memoryEnergyMj: 20,
    countedMbPerSample: 100,
    memoryBaseMib: 0,
    memoryPerSampleMib: 0,
  }
}
