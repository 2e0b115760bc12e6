import { CORRECTION_NODES, HOST_NODES } from '../correction-grid.js'
import { correctionNodesOf, hostNodesOf, type WeightedNode } from '../corrections.js'
import { gridPrecision, type KrigedNodes, krige, type NodeObservation } from './kriging.js'
import type { ModelObjective } from './model-objective.js'
import { makeMonotone } from './monotone-grid.js'
import type { TableRow, TraceTable } from './trace-table.js'

/** Minimum number of rows for which a network gets corrections. */
const MIN_ROWS = 12
/** Limit at which residuals of ln(throughput) are clipped, to reduce the influence of outliers. */
const LARGEST_SPEED = 0.3
/** Limit at which residuals of ln(dynamic power) are clipped. */
const LARGEST_POWER = 0.6
/** Weight of one tenant's residual in a row of unlike tenants. The residual of a row of like tenants has weight 1. */
const UNLIKE_WEIGHT = 0.5
/**
 * Rows with a nominal clock are skipped if their predicted power exceeds this fraction of the limit: the limit may have
 * reduced their measured power.
 */
const NEAR_LIMIT = 0.97
/** Standard deviations of ln(throughput) and ln(power) of a network without corrections, if ten rows or more are known. */
const MEASURED_SD = { speed: 0.03, power: 0.012 }
/** Further standard deviations of a network without rows. They and `MEASURED_SD` follow from leaving out known networks. */
const UNMEASURED_SD = { speed: 0.3, power: 0.08 }
/** Number of fits. The corrections act inside a fixed point, so one fit is not exact. */
const SPEED_PASSES = 2

/**
 * Fit each tenant's throughput residual by factors on device speed and host speed. Each factor affects a row with a
 * strength that changes with the clock, which lets the fit separate the two.
 */
export function fitSpeedCorrections(table: TraceTable, rows: readonly TableRow[], objective: ModelObjective): void {
  for (let pass = 0; pass < SPEED_PASSES; pass++) {
    const observations = rows.flatMap((row) => speedObservations(objective, row))
    objective.networks.forEach((network, k) => {
      const { found, count } = krigeNetwork(table, observations, k)
      const grids = table.memClocksMhz.map((_, m) => (found ? gridOf(found.values, m) : []))
      if (found) makeMonotone(grids)
      grids.forEach((grid, m) => {
        const speedSd = found ? deviations(table, found, m) : uncorrectedSds('speed', count)
        Object.assign(network.corrections[m]!, { speed: grid.map(rounded), speedSd })
      })
      const hostFrom = table.memClocksMhz.length * CORRECTION_NODES
      network.hostSpeed = found ? Array.from(found.values.subarray(hostFrom), rounded) : []
    })
    objective.readCorrections()
  }
}

/** Fit the residual of the dynamic power (measured power minus idle power). */
export function fitPowerCorrections(table: TraceTable, rows: readonly TableRow[], objective: ModelObjective): void {
  const { board, limitW } = objective
  const observations = rows.flatMap((row): Observation[] => {
    const idleW = board.idlePowerW[row.memIndex]!.powerW
    const { powerW } = objective.evaluate(row)
    if (row.nominalClock && powerW > NEAR_LIMIT * limitW) return []
    const dynamicW = powerW - idleW
    const value = Math.log(Math.max(row.row.powerAverageW - idleW, 0.1 * dynamicW) / dynamicW)
    // The noise is relative to the total power, so a small dynamic part is known less precisely.
    const weight = (dynamicW / powerW) ** 2
    const observe = (kind: number, counts: number): Observation => {
      const { network, mpsPercent, batchSize } = kindOf(objective, kind)
      const of = correctionNodesOf(mpsPercent, batchSize, row.kinds.length)
      const nodes = nodesFrom(row.memIndex * CORRECTION_NODES, of, 1)
      return { network, nodes, value: limited(value, LARGEST_POWER), weight: counts * weight }
    }
    if (row.likeTenants) return [observe(row.kinds[0]!, 1)]
    // The board's power does not show which tenant caused a residual, so all tenants share it.
    return row.kinds.map((kind) => observe(kind, UNLIKE_WEIGHT / row.kinds.length))
  })
  objective.networks.forEach((network, k) => {
    const { found, count } = krigeNetwork(table, observations, k)
    table.memClocksMhz.forEach((_, m) => {
      const dynamicPower = found ? gridOf(found.values, m).map(rounded) : []
      const powerSd = found
        ? gridOf(found.variances, m).map((variance) => rounded(Math.sqrt(variance)))
        : uncorrectedSds('power', count)
      Object.assign(network.corrections[m]!, { dynamicPower, powerSd })
    })
  })
  objective.readCorrections()
}

/**
 * Standard deviation of ln(throughput) or ln(power) of a network without corrections.
 *
 * @param rows number of measured rows with the network
 */
export function uncorrectedSd(quantity: 'speed' | 'power', rows: number): number {
  return Math.hypot(MEASURED_SD[quantity], UNMEASURED_SD[quantity] / (1 + rows))
}

function uncorrectedSds(quantity: 'speed' | 'power', rows: number): number[] {
  return new Array<number>(CORRECTION_NODES).fill(rounded(uncorrectedSd(quantity, rows)))
}

interface Observation extends NodeObservation {
  readonly network: number
}

function speedObservations(objective: ModelObjective, row: TableRow): Observation[] {
  const { totalThroughput, throughput } = objective.evaluate(row)
  const remainders = row.likeTenants
    ? [Math.log(row.row.throughput / totalThroughput)]
    : row.row.tenantThroughput.map((measured, i) => (measured > 0 ? Math.log(measured / throughput[i]!) : Number.NaN))
  const sensitivities = new Map<number, ReturnType<ModelObjective['speedSensitivity']>>()
  return remainders.flatMap((remainder, i): Observation[] => {
    if (Number.isNaN(remainder)) return []
    const kind = row.kinds[i]!
    const by = sensitivities.get(kind) ?? objective.speedSensitivity(row, kind)
    sensitivities.set(kind, by)
    const { network, mpsPercent, batchSize } = kindOf(objective, kind)
    const count = row.kinds.length
    const deviceNodes = correctionNodesOf(mpsPercent, batchSize, count)
    const hostNodes = hostNodesOf(batchSize, count)
    const { memClocksMhz } = objective.table
    const nodes = [
      ...nodesFrom(row.memIndex * CORRECTION_NODES, deviceNodes, by.device[i]!),
      ...nodesFrom(memClocksMhz.length * CORRECTION_NODES, hostNodes, by.host[i]!),
    ]
    // Add back the effect of the current corrections, because the new grids replace them.
    const { corrections, hostSpeed } = objective.networks[network]!
    const grid = corrections[row.memIndex]!.speed
    const done = by.device[i]! * valueAt(grid, deviceNodes) + by.host[i]! * valueAt(hostSpeed, hostNodes)
    const weight = row.likeTenants ? 1 : UNLIKE_WEIGHT
    return [{ network, nodes, value: limited(remainder, LARGEST_SPEED) + done, weight }]
  })
}

function valueAt(grid: readonly number[], nodes: readonly WeightedNode[]): number {
  return nodes.reduce((sum, { index, weight }) => sum + weight * (grid[index] ?? 0), 0)
}

/**
 * Maps nodes of one grid to indices among all nodes of a network. `from` is the index of the grid's first node;
 * `factor` is how strongly the grid acts.
 */
function nodesFrom(from: number, nodes: readonly WeightedNode[], factor: number): WeightedNode[] {
  return nodes.map(({ index, weight }) => ({ index: from + index, weight: factor * weight }))
}

/** Corrections of one network, if enough observations are its own, and the number of these. */
function krigeNetwork({ memClocksMhz }: TraceTable, observations: readonly Observation[], network: number) {
  const own = observations.filter((entry) => entry.network === network)
  const clocks = memClocksMhz.length
  const nodes = clocks * CORRECTION_NODES + HOST_NODES
  const found = own.length >= MIN_ROWS ? krige(gridPrecision(clocks), nodes, own) : undefined
  return { found, count: own.length }
}

function gridOf(nodes: Float64Array, memIndex: number): number[] {
  return Array.from(nodes.subarray(memIndex * CORRECTION_NODES, (memIndex + 1) * CORRECTION_NODES))
}

/**
 * Returns the standard deviation at each node: the square root of the mean of the device and host variances, because
 * either may limit the speed.
 */
function deviations({ memClocksMhz }: TraceTable, { variances }: KrigedNodes, memIndex: number): number[] {
  const host = variances.subarray(memClocksMhz.length * CORRECTION_NODES)
  return gridOf(variances, memIndex).map((device, i) => rounded(Math.sqrt(0.5 * (device + host[i % HOST_NODES]!))))
}

function kindOf({ table, spec }: ModelObjective, index: number) {
  const { network, sms, batchSize } = table.kinds[index]!
  return { network, mpsPercent: (100 * sms) / spec.smCount, batchSize }
}

function limited(value: number, most: number): number {
  return Math.min(most, Math.max(-most, value))
}

function rounded(value: number): number {
  return Number(value.toFixed(4))
}
