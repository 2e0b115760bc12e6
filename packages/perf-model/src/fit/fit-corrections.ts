import type { NetworkParameters } from '../parameters.js'
import type { ModelObjective } from './model-objective.js'
import { makeMonotone } from './monotone-grid.js'
import { type GridObservation, smoothGrid } from './smooth-grid.js'
import type { TableRow, TraceTable } from './trace-table.js'

/** A network with fewer rows at a memory clock uses those of all its clocks, and with fewer of all has no correction. */
const LEAST_ROWS = 12
/** Remainders count as no larger than this, so that an outlier pulls no further. */
const LARGEST_SPEED = 0.3
const LARGEST_POWER = 0.6
/** What one tenant among unlike ones counts; a row with like tenants counts 1. */
const UNLIKE_WEIGHT = 0.5
/** A prediction this close to the limit says nothing of what the power would be without it. */
const NEAR_LIMIT = 0.97

/** Fit what the equations leave over of the throughput, tenant by tenant. */
export function fitSpeedCorrections(table: TraceTable, rows: readonly TableRow[], objective: ModelObjective): void {
  const observations = rows.flatMap((row): Observation[] => {
    const { totalThroughput, throughput } = objective.evaluate(row)
    if (row.likeTenants) return [observe(objective, row, 0, Math.log(row.row.throughput / totalThroughput), 1)]
    return row.row.tenantThroughput.flatMap((measured, i) =>
      measured > 0 ? [observe(objective, row, i, Math.log(measured / throughput[i]!), UNLIKE_WEIGHT)] : [],
    )
  })
  setCorrections(table, objective.networks, 'speed', observations, LARGEST_SPEED)
  objective.readCorrections()
}

/** The same for the dynamic power, which is what remains of the measured power without the idle power. */
export function fitPowerCorrections(table: TraceTable, rows: readonly TableRow[], objective: ModelObjective): void {
  const { board, limitW } = objective
  const observations = rows.flatMap((row): Observation[] => {
    const idleW = board.idlePowerW[row.memIndex]!.powerW
    const { powerW } = objective.evaluate(row)
    if (row.nominalClock && powerW > NEAR_LIMIT * limitW) return []
    const dynamicW = powerW - idleW
    const value = Math.log(Math.max(row.row.powerAverageW - idleW, 0.1 * dynamicW) / dynamicW)
    // Noise is relative to the whole power, so a small dynamic part is known the less.
    const weight = (dynamicW / powerW) ** 2
    if (row.likeTenants) return [observe(objective, row, 0, value, weight)]
    // Which tenant a remainder belongs to cannot be seen in the board's power: all share it.
    return row.kinds.map((_, i) => observe(objective, row, i, value, (UNLIKE_WEIGHT * weight) / row.kinds.length))
  })
  setCorrections(table, objective.networks, 'dynamicPower', observations, LARGEST_POWER)
  objective.readCorrections()
}

type Quantity = 'speed' | 'dynamicPower'

interface Observation extends GridObservation {
  readonly network: number
  readonly memIndex: number
}

function setCorrections(
  table: TraceTable,
  networks: readonly NetworkParameters[],
  quantity: Quantity,
  observations: readonly Observation[],
  largest: number,
): void {
  const bounded = observations.map((entry) => ({ ...entry, value: limited(entry.value, largest) }))
  networks.forEach((network, k) => {
    const all = bounded.filter((entry) => entry.network === k)
    const byClock = table.memClocksMhz.map((_, m) => all.filter((entry) => entry.memIndex === m))
    const grids = byClock.map((own) => {
      const used = own.length >= LEAST_ROWS ? own : all
      return used.length >= LEAST_ROWS ? smoothGrid(used) : []
    })
    if (quantity === 'speed' && grids.every((grid) => grid.length > 0)) makeMonotone(grids)
    network.corrections = table.memClocksMhz.map((memClockMhz, m) => {
      const before = network.corrections.find((entry) => entry.memClockMhz === memClockMhz)
      const { speed, dynamicPower } = before ?? { speed: [], dynamicPower: [] }
      const grid = grids[m]!.map((value) => Number(value.toFixed(4)))
      return { memClockMhz, speed, dynamicPower, [quantity]: grid }
    })
  })
}

function observe(
  { table, spec }: ModelObjective,
  row: TableRow,
  tenant: number,
  value: number,
  weight: number,
): Observation {
  const { network, sms, batchSize } = table.kinds[row.kinds[tenant]!]!
  const mpsPercent = (100 * sms) / spec.smCount
  return { network, memIndex: row.memIndex, mpsPercent, batchSize, tenants: row.kinds.length, value, weight }
}

function limited(value: number, most: number): number {
  return Math.min(most, Math.max(-most, value))
}
