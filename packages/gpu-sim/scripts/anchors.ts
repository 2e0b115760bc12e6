import { findGpuSpec, type GpuSpec } from '@pctodl/platform'
import { boardPower } from '../src/board-power.js'
import { derivePhysics } from '../src/derive-physics.js'
import type { BoardPhysics } from '../src/index.js'

/** Watts of loads that the surrogate does not hold, measured on real boards. They pin what seven networks leave open. */
interface PowerAnchor {
  readonly source: string
  readonly spec: GpuSpec
  readonly temperatureC: number
  readonly memClockMhz: number
  readonly dramBytesPerS: number
  readonly busy: boolean
  /** Watts at each clock. */
  readonly points: readonly (readonly [smClockMhz: number, powerW: number])[]
  /** Arithmetic of unknown energy, in step with the clock: its amplitude is taken from the last point. */
  readonly arithmetic: boolean
  readonly scale: number
}

const a100 = findGpuSpec('A100')
/** The board of the grid: PCIe, 300 W, HBM2e at 1512 MHz. */
const a100Pcie80: GpuSpec = {
  ...findGpuSpec('A100-80GB'),
  powerLimitW: { min: 150, default: 300, max: 300 },
  clockStates: [{ memClockMhz: 1512, smClocksMhz: findGpuSpec('A100-80GB').clockStates[0]!.smClocksMhz }],
  performanceMemClocksMhz: [1512],
}
const rtx3090 = findGpuSpec('RTX3090')

const grid = 'giordano/gpu-power-frequency-benchmarks, 300 W column'
const anchors: Readonly<Record<string, readonly PowerAnchor[]>> = {
  A100: [
    {
      source: 'GPU_Power_Benchmark, A100 PCIe 40GB before its load step',
      spec: a100,
      temperatureC: 38,
      memClockMhz: 1215,
      dramBytesPerS: 0,
      busy: false,
      points: [[1410, 60]],
      arithmetic: false,
      scale: 0.05,
    },
    {
      source: `${grid}: BabelStream`,
      spec: a100Pcie80,
      temperatureC: 55,
      memClockMhz: 1512,
      dramBytesPerS: 1.69e12,
      busy: true,
      points: [
        [1005, 145],
        [1110, 155],
        [1200, 170],
        [1305, 190],
        [1410, 228],
      ],
      arithmetic: false,
      scale: 0.03,
    },
    {
      source: `${grid}: fp64 solver`,
      spec: a100Pcie80,
      temperatureC: 55,
      memClockMhz: 1512,
      dramBytesPerS: 0,
      busy: true,
      points: [
        [1005, 135.3],
        [1110, 152.4],
        [1200, 179.3],
        [1305, 225],
        [1410, 296],
      ],
      arithmetic: true,
      scale: 0.03,
    },
  ],
  '3080Ti': [
    {
      source: 'GPU_Power_Benchmark, RTX 3090 before its load step',
      spec: rtx3090,
      temperatureC: 54,
      memClockMhz: 9751,
      dramBytesPerS: 0,
      busy: false,
      points: [[1800, 127]],
      arithmetic: false,
      scale: 0.05,
    },
    ...[
      [
        [825, 199.7],
        [1050, 219.6],
        [1245, 239.6],
        [1395, 259.2],
        [1485, 279.3],
        [1545, 299.5],
        [1605, 319.4],
        [1665, 355],
        [1710, 381.2],
      ],
      [
        [855, 199.7],
        [1095, 219.7],
        [1320, 239.7],
        [1440, 259.5],
        [1530, 279.3],
        [1605, 299.1],
        [1650, 318.6],
        [1740, 362],
        [1785, 387.6],
      ],
    ].map((points) => ({
      source: 'club-3090, prefill',
      spec: rtx3090,
      temperatureC: 65,
      memClockMhz: 9751,
      dramBytesPerS: 1.5e11,
      busy: true,
      points: points as unknown as PowerAnchor['points'],
      arithmetic: true,
      scale: 0.04,
    })),
  ],
}

/** An anchor counts as much as so many configurations. */
const WEIGHT = 7

/** Relative errors of the anchors of a board, in units of their scale. */
export function anchorResiduals(board: string, physics: BoardPhysics): number[] {
  return powersOfAnchors(board, physics).map(({ simulatedW, measuredW, scale }) => {
    return (WEIGHT * Math.log(simulatedW / measuredW)) / scale
  })
}

/** A measured power and what the coefficients make of it. */
export interface AnchorPower {
  readonly source: string
  readonly smClockMhz: number
  readonly measuredW: number
  readonly simulatedW: number
  readonly scale: number
}

/** What the anchors say and what the coefficients make of them. */
export function powersOfAnchors(board: string, physics: BoardPhysics): AnchorPower[] {
  const known = { spec: findGpuSpec(board), physics }
  return (anchors[board] ?? []).flatMap((anchor) => {
    const { spec, temperatureC, memClockMhz, dramBytesPerS, busy, points, arithmetic, scale, source } = anchor
    const derived = spec.key === board ? physics : derivePhysics(spec, known, { sustain: false })
    const at = (smClockMhz: number, flopPerS: number) => {
      // A triad moves eight bytes an operation.
      const moved = { l2BytesPerS: dramBytesPerS, dramBytesPerS, vectorOpsPerS: dramBytesPerS / 8 }
      const state = { busySms: busy ? spec.smCount : 0, flopPerS, ...moved }
      return boardPower(spec, derived, state, smClockMhz, memClockMhz, temperatureC).totalW
    }
    const [topMhz, topW] = points.at(-1)!
    const perMhz = arithmetic ? ((topW - at(topMhz, 0)) / (at(topMhz, 1e12) - at(topMhz, 0))) * (1e12 / topMhz) : 0
    return points.map(([smClockMhz, measuredW]) => {
      return { source, smClockMhz, measuredW, simulatedW: at(smClockMhz, perMhz * smClockMhz), scale }
    })
  })
}
