import {
  findGpuSpec,
  type GpuSpec,
  gpuSpecs,
  InvalidInputError,
  memoryBandwidth,
  memoryTypeOf,
  narrowOpPerClockPerSm,
  smClocksAt,
} from '@pctodl/platform'

/** Specification of a board as the operator model uses it: peaks and limits. */
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
  readonly lowestClockMhz: number
  readonly powerLimitW: number
  /** Assumed board power when idle at its operating clocks, W. */
  readonly idleW: number
}

/** Boards whose operators were measured. */
const measuredBoards: readonly string[] = ['A100-80GB', 'L40S', 'H100', 'H200', 'GB200', 'RTXPRO6000']

/** Measured board that is used for others of the same compute capability. */
const nearest: Readonly<Record<string, string>> = {
  '8.0': 'A100-80GB',
  '8.6': 'A100-80GB',
  '8.9': 'L40S',
  '9.0': 'H100',
  '10.0': 'GB200',
  '12.0': 'RTXPRO6000',
}

/** Assumed idle power as a fraction of the limit, for boards with HBM. */
const WAITING = 0.17
/** The same fraction for boards with GDDR memory. */
const WAITING_GDDR = 0.1
/** The same fraction for chips made by Samsung: best agreement with the sweeps of an RTX 3090. */
const WAITING_SAMSUNG = 0.285

function idleOf(spec: GpuSpec): number {
  const isGddr = memoryTypeOf(spec).startsWith('GDDR')
  const part = spec.process.startsWith('Samsung') ? WAITING_SAMSUNG : isGddr ? WAITING_GDDR : WAITING
  return part * spec.powerLimitW.default
}

/** @throws InvalidInputError for a compute capability without a measured board */
function operatorBoard(spec: GpuSpec): OperatorBoard {
  if (!Object.hasOwn(nearest, spec.computeCapability)) {
    const known = Object.keys(nearest).join(', ')
    throw new InvalidInputError(
      'GPU',
      spec.key,
      `a board of a measured compute capability (${known}), not ${spec.computeCapability}`,
    )
  }
  const memClockMhz = spec.performanceMemClocksMhz[0]!
  const ops = [
    spec.tensorFlopPerClockPerSm,
    ...(['fp8', 'int8', 'fp4'] as const).map((format) => narrowOpPerClockPerSm(spec, format)),
  ]
  const [half, fp8, int8, fp4] = ops.map((op) => (op * spec.smCount * spec.boostClockMhz) / 1e6)
  return {
    name: spec.key,
    measuredAs: measuredBoards.includes(spec.key) ? spec.key : nearest[spec.computeCapability]!,
    peakTflops: [half!, fp8!, int8!, fp4!],
    bandwidthTBs: memoryBandwidth(spec, memClockMhz) / 1e12,
    memoryGiB: spec.memoryBytes / 2 ** 30,
    smCount: spec.smCount,
    boostClockMhz: spec.boostClockMhz,
    lowestClockMhz: smClocksAt(spec, memClockMhz)![0]!,
    powerLimitW: spec.powerLimitW.default,
    idleW: idleOf(spec),
  }
}

/** All built-in boards that the operator model supports. */
export const operatorBoards: readonly OperatorBoard[] = Object.values(gpuSpecs)
  .filter(({ computeCapability }) => computeCapability in nearest)
  .map(operatorBoard)

/**
 * @throws UnknownNameError listing the known boards
 * @throws InvalidInputError for a compute capability without a measured board
 */
export function findOperatorBoard(name: string): OperatorBoard {
  return operatorBoard(findGpuSpec(name))
}
