import {
  findGpuSpec,
  type GpuSpec,
  InvalidInputError,
  memoryBandwidth,
  memoryTypeOf,
  narrowOpPerClockPerSm,
  smClocksAt,
} from '@pctodl/platform'

/** Specification of a board for the operator model: peaks and limits. */
export interface OperatorBoard {
  readonly name: string
  /** Board whose fitted operators are used for this one; its own name if it was measured. */
  readonly measuredAs: string
  /** Dense peaks of FP16, FP8, INT8 and FP4 matrix products, TFLOP/s; 0 if unsupported. */
  readonly peakTflops: readonly [half: number, fp8: number, int8: number, fp4: number]
  readonly bandwidthTBs: number
  readonly memoryGiB: number
  readonly smCount: number
  readonly boostClockMhz: number
  /** SM clocks that can be set at the default memory clock, ascending, MHz. */
  readonly smClocksMhz: readonly number[]
  readonly powerLimitW: number
  /** Assumed board power when idle at its operating clocks, W. */
  readonly idleW: number
}

/** Boards whose operators were measured. */
const measuredBoards: readonly string[] = ['A100-80GB', 'L40S', 'H100', 'H200', 'GB200', 'RTXPRO6000']

/** Measured boards that stand in for others, newest first. Each is used from its compute capability upwards. */
const standIns = [
  [12, 'RTXPRO6000'],
  [10, 'GB200'],
  [9, 'H100'],
  [8.9, 'L40S'],
  [8, 'A100-80GB'],
] as const

/** Assumed idle power as a fraction of the power limit, for boards with HBM. */
const WAITING = 0.17
/** Assumed idle power as a fraction of the power limit, for boards with GDDR memory. */
const WAITING_GDDR = 0.1
/**
 * Assumed idle power as a fraction of the power limit, for chips made by Samsung. It agrees best with measured clock
 * sweeps of an RTX 3090.
 */
const WAITING_SAMSUNG = 0.285

function idleOf(spec: GpuSpec): number {
  const isGddr = memoryTypeOf(spec).startsWith('GDDR')
  const part = spec.process.startsWith('Samsung') ? WAITING_SAMSUNG : isGddr ? WAITING_GDDR : WAITING
  return part * spec.powerLimitW.default
}

/** @throws InvalidInputError for a board older than all measured boards */
function operatorBoard(spec: GpuSpec): OperatorBoard {
  const standIn = standIns.find(([from]) => Number(spec.computeCapability) >= from)?.[1]
  if (standIn === undefined) {
    const expected = `a board of compute capability 8.0 or more, not ${spec.computeCapability}`
    throw new InvalidInputError('GPU', spec.key, expected)
  }
  const memClockMhz = spec.performanceMemClocksMhz[0]!
  const ops = [
    spec.tensorFlopPerClockPerSm,
    ...(['fp8', 'int8', 'fp4'] as const).map((format) => narrowOpPerClockPerSm(spec, format)),
  ]
  const [half, fp8, int8, fp4] = ops.map((op) => (op * spec.smCount * spec.boostClockMhz) / 1e6)
  return {
    name: spec.key,
    measuredAs: measuredBoards.includes(spec.key) ? spec.key : standIn,
    peakTflops: [half!, fp8!, int8!, fp4!],
    bandwidthTBs: memoryBandwidth(spec, memClockMhz) / 1e12,
    memoryGiB: spec.memoryBytes / 2 ** 30,
    smCount: spec.smCount,
    boostClockMhz: spec.boostClockMhz,
    smClocksMhz: smClocksAt(spec, memClockMhz)!,
    powerLimitW: spec.powerLimitW.default,
    idleW: idleOf(spec),
  }
}

/**
 * Find a board by name.
 *
 * @throws UnknownNameError that lists the known boards
 * @throws InvalidInputError for a board older than all measured boards
 */
export function findOperatorBoard(name: string): OperatorBoard {
  return operatorBoard(findGpuSpec(name))
}
