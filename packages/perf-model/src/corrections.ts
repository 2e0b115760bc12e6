import type { BoardConstants } from './board-constants.js'
import { correctionGrid, TENANT_NODES } from './correction-grid.js'
import type { KindCorrections, TenantKind } from './kind.js'
import type { NetworkParameters } from './parameters.js'

const logShares = correctionGrid.mpsPercent.map(Math.log)
const logBatches = correctionGrid.batchSize.map(Math.log)

/** Standard deviation of ln(throughput) and ln(power) if the fit gives none. */
const UNKNOWN_SD = 0.3
/** Lower bound of a standard deviation, because the equations are not exact. */
const MIN_SD = 1e-3

/** Corrections of one kind of tenant, from its network's grids. */
export function correctionsOf(
  { memClocksMhz, smCount }: BoardConstants,
  { corrections, hostSpeed }: NetworkParameters,
  { sms, batchSize, memIndex, tenants }: TenantKind,
): KindCorrections {
  const found = corrections.find((entry) => entry.memClockMhz === memClocksMhz[memIndex])
  const device = kindNodes((100 * sms) / smCount, batchSize)
  const factor = (grid: readonly number[] = [], nodes = device) =>
    amongNodes(tenants, (node) => Math.exp(valueAt(grid, nodes, node, 0)))
  const variance = (grid: readonly number[] = []) =>
    amongNodes(tenants, (node) => Math.max(MIN_SD, valueAt(grid, device, node, UNKNOWN_SD)) ** 2)
  return {
    deviceSpeed: factor(found?.speed),
    hostSpeed: factor(hostSpeed, around(logBatches, Math.log(batchSize))),
    dynamicPower: factor(found?.dynamicPower),
    speedVariance: variance(found?.speedSd),
    powerVariance: variance(found?.powerSd),
  }
}

/** Value for a number of tenants, interpolated between two nodes. */
function amongNodes(tenants: number, at: (node: number) => number): number {
  return around(correctionGrid.tenants, tenants).reduce((sum, { index, weight }) => sum + weight * at(index), 0)
}

/** Value of a grid at a node of the tenant count, interpolated among the nodes of share and batch. */
function valueAt(grid: readonly number[], nodes: readonly WeightedNode[], node: number, missing: number): number {
  let sum = 0
  for (const { index, weight } of nodes) sum += weight * (grid[index * TENANT_NODES + node] ?? missing)
  return sum
}

/** A node of a grid and its interpolation weight. */
export interface WeightedNode {
  readonly index: number
  readonly weight: number
}

/** Nodes of the device grid around a tenant, with weights that sum to 1. */
export function correctionNodesOf(mpsPercent: number, batchSize: number, tenants: number): WeightedNode[] {
  return times(kindNodes(mpsPercent, batchSize), correctionGrid.tenants, tenants)
}

/** Nodes of the host grid around a tenant, with weights that sum to 1. */
export function hostNodesOf(batchSize: number, tenants: number): WeightedNode[] {
  return times(around(logBatches, Math.log(batchSize)), correctionGrid.tenants, tenants)
}

/** Nodes of share and batch around a kind of tenant, with their weights. */
function kindNodes(mpsPercent: number, batchSize: number): WeightedNode[] {
  return times(around(logShares, Math.log(mpsPercent)), logBatches, Math.log(batchSize))
}

/** Nodes of a grid with one more axis, around a value on this axis. */
function times(outer: readonly WeightedNode[], axis: readonly number[], value: number): WeightedNode[] {
  const inner = around(axis, value)
  return outer.flatMap((a) =>
    inner.map((b) => ({ index: a.index * axis.length + b.index, weight: a.weight * b.weight })),
  )
}

/** The one or two nodes of an axis around a value. Values beyond the ends are clamped to them. */
function around(axis: readonly number[], value: number): WeightedNode[] {
  let node = 0
  while (node < axis.length - 2 && value > axis[node + 1]!) node++
  const part = Math.min(1, Math.max(0, (value - axis[node]!) / (axis[node + 1]! - axis[node]!)))
  return [
    { index: node, weight: 1 - part },
    { index: node + 1, weight: part },
  ].filter(({ weight }) => weight > 0)
}
