import { median } from '@pctodl/numerics'
import type { Telemetry } from '@pctodl/platform'
import type { ProfiledBoard } from '../measure/profiled-board.js'
import { probes } from './probe-networks.js'

const PERIOD_MS = 20
const LOADED_MS = 4000
const IDLE_MS = 6000

/** How the power sensor responds when a load ends. */
export interface SensorStep {
  /** Time since the load ended, ms (negative while the load runs), and the readings at that time. */
  readonly readings: readonly {
    readonly ms: number
    readonly averageW: number | null
    readonly instantW: number | null
    readonly energyJ: number | null
  }[]
  /**
   * Response of the averaged power reading; null if the board has no such reading, or if the reading did not follow the
   * load.
   */
  readonly average: StepResponse | null
  readonly instant: StepResponse | null
}

interface StepResponse {
  readonly fromW: number
  readonly toW: number
  /** Median time between changes of the reading, ms: a reading can be this old. */
  readonly refreshMs: number
  /** Time from the end of the load until the reading has fallen by half, and by nine tenths, of the difference, ms. */
  readonly halfMs: number
  readonly ninetyMs: number
}

/**
 * Loads the board with matrix products, stops them at once, and records the power readings.
 *
 * @returns null if the tenant does not run
 * @throws the tenant pool's error if it cannot start a tenant
 */
export async function measureSensorStep(
  { gpu, tenants, clock }: ProfiledBoard,
  signal?: AbortSignal,
): Promise<SensorStep | null> {
  const { name: model, batchSize } = probes[0]!
  const read: Telemetry[] = []
  const watch = async (durationMs: number) => {
    for (let left = durationMs; left > 0; left -= PERIOD_MS) {
      await clock.sleep(PERIOD_MS, signal)
      read.push(await gpu.sample())
    }
  }
  await tenants.apply([{ model, mpsPercent: 100, batchSize }], signal ? { signal } : {})
  if (tenants.counters().some(({ state }) => state !== 'running')) {
    await tenants.stop()
    return null
  }
  await watch(LOADED_MS)
  await tenants.stop()
  const endMs = clock.now()
  await watch(IDLE_MS)
  const readings = read.map((each) => ({
    ms: Math.round(10 * (each.timeMs - endMs)) / 10,
    averageW: each.powerAverageW,
    instantW: each.powerInstantW,
    energyJ: each.energyJ,
  }))
  const responseOf = (field: 'averageW' | 'instantW') =>
    stepResponse(readings.flatMap(({ ms, [field]: watts }) => (watts === null ? [] : [{ ms, watts }])))
  return { readings, average: responseOf('averageW'), instant: responseOf('instantW') }
}

function stepResponse(readings: readonly { readonly ms: number; readonly watts: number }[]): StepResponse | null {
  const wattsWithin = (from: number, to: number) =>
    readings.filter(({ ms }) => ms >= from && ms < to).map(({ watts }) => watts)
  const before = wattsWithin(-1000, 0)
  const after = wattsWithin(IDLE_MS - 1500, IDLE_MS)
  if (before.length === 0 || after.length === 0) return null
  const fromW = median(before)
  const toW = median(after)
  const passes = (part: number) =>
    readings.find(({ ms, watts }) => ms >= 0 && ms < IDLE_MS && watts <= fromW + part * (toW - fromW))?.ms
  const halfMs = passes(0.5)
  const ninetyMs = passes(0.9)
  if (!(fromW > toW) || halfMs === undefined || ninetyMs === undefined) return null
  const changes = readings.filter(({ watts }, i) => i > 0 && watts !== readings[i - 1]!.watts)
  const gaps = changes.slice(1).map(({ ms }, i) => ms - changes[i]!.ms)
  return { fromW, toW, refreshMs: gaps.length > 0 ? median(gaps) : Number.NaN, halfMs, ninetyMs }
}
