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

/** What the operator model knows of a board: peaks and limits of its specification. */
export interface OperatorBoard {
  readonly name: string
  /** Board whose fitted operators stand for this one; itself where it was measured. */
  readonly measuredAs: string
  /** Dense peaks of FP16, FP8, INT8 and FP4 products, TFLOP/s; 0 where there is none. */
  readonly peakTflops: readonly [half: number, fp8: number, int8: number, fp4: number]
  readonly bandwidthTBs: number
  readonly memoryGiB: number
  readonly smCount: number
  readonly boostClockMhz: number
  readonly lowestClockMhz: number
  readonly powerLimitW: number
  /** Board power while it waits at its operating clocks, assumed, W. */
  readonly idleW: number
}

/** Boards whose operators were measured. */
const measuredBoards: readonly string[] = ['A100-80GB', 'L40S', 'H100', 'H200', 'GB200', 'RTXPRO6000']

/** The measured board that stands for others of its compute capability. */
const nearest: Readonly<Record<string, string>> = {
  '8.0': 'A100-80GB',
  '8.6': 'A100-80GB',
  '8.9': 'L40S',
  '9.0': 'H100',
  '10.0': 'GB200',
  '12.0': 'RTXPRO6000',
}

/** Part of its limit that a board draws while it waits, assumed: of modules and server boards, and of GDDR boards since Ada. */
const WAITING = 0.17
const WAITING_GDDR = 0.1
/** What the sweeps of an RTX 3090 agree with best. */
const WAITING_SAMSUNG = 0.285

function idleOf(spec: GpuSpec): number {
  const isGddr = memoryTypeOf(spec).startsWith('GDDR')
  const part = spec.process.startsWith('Samsung') ? WAITING_SAMSUNG : isGddr ? WAITING_GDDR : WAITING
  return part * spec.powerLimitW.default
}

/** @throws InvalidInputError for a generation of which no operator was measured */
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

/** The boards of this release that the operator model answers for. */
export const operatorBoards: readonly OperatorBoard[] = Object.values(gpuSpecs)
  .filter(({ computeCapability }) => computeCapability in nearest)
  .map(operatorBoard)

/** @throws UnknownNameError listing the boards that exist; InvalidInputError for one that no measurement stands for */
export function findOperatorBoard(name: string): OperatorBoard {
  return operatorBoard(findGpuSpec(name))
}
