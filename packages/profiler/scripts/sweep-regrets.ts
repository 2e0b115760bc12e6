import { boardVariants, simulateSteadyState } from '@pctodl/gpu-sim'
import { findGpuSpec, networkNames, smClocksAt, type Tenant } from '@pctodl/platform'
import { efficiencyOf, findKnee, type KneePoint } from '../src/sweep/find-knee.js'
import { limitsOf, type SweptSetting } from '../src/sweep/sweep-board.js'

export interface SweepCase {
  /** Board or variant of it. */
  readonly truth: string
  readonly model: string
  readonly tenants: string
  /** What the found setting has less than the best of all, in parts of it. */
  readonly regret: number
  readonly points: number
}

/** Of a full sweep over limits. */
const LIMIT_STEP_W = 5

const loads: readonly (readonly [count: number, mpsPercent: number, batchSize: number])[] = [
  [1, 100, 1],
  [1, 100, 64],
  [2, 50, 16],
  [4, 25, 32],
  [10, 10, 8],
]

/** The regret of a sweep on every network, for several sets of tenants, on a board and its first variants: settled, without noise. */
export async function sweepRegrets(board: string, over: SweptSetting, variants: number): Promise<SweepCase[]> {
  const spec = findGpuSpec(board)
  const memClockMhz = spec.performanceMemClocksMhz[0]!
  const clocks = smClocksAt(spec, memClockMhz)!
  const truths = [board, ...(variants > 0 ? boardVariants(board, { count: variants }).map(({ name }) => name) : [])]
  const cases: SweepCase[] = []
  for (const truth of truths) {
    const unlimited = simulateSteadyState(truth)
    for (const model of networkNames) {
      for (const [count, mpsPercent, batchSize] of loads) {
        const tenants: Tenant[] = Array.from({ length: count }, () => ({ model, mpsPercent, batchSize }))
        const pointAt = (setting: number): KneePoint => {
          const simulate = over === 'clocks' ? unlimited : simulateSteadyState(truth, { powerLimitW: setting })
          const smClockMhz = over === 'clocks' ? setting : clocks.at(-1)!
          const { throughput, powerW } = simulate({ tenants, smClockMhz, memClockMhz })
          return { setting, throughput, powerW }
        }
        const top = { ...pointAt(spec.powerLimitW.max), setting: spec.powerLimitW.max }
        const settings = over === 'clocks' ? clocks : limitsOf(spec, top.powerW)
        const measured = over === 'clocks' ? [] : [top]
        const { best, points } = await findKnee(settings, async (setting) => pointAt(setting), measured)
        const full = over === 'clocks' ? settings : settings.filter((_, i) => i % LIMIT_STEP_W === 0)
        const most = Math.max(...[...points, ...full.map(pointAt)].map(efficiencyOf))
        cases.push({
          truth,
          model,
          tenants: `${count} x ${mpsPercent} %, batch ${batchSize}`,
          regret: 1 - efficiencyOf(best) / most,
          points: points.length,
        })
      }
    }
  }
  return cases
}
