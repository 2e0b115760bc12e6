import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import type { BoardConstants } from './board-constants.js'
import { BATCH_NODES, correctionGrid, TENANT_NODES } from './correction-grid.js'
import type { KindCorrections, TenantKind } from './kind.js'
import type { NetworkParameters } from './parameters.js'

const logShares = correctionGrid.mpsPercent.map(Math.log)
const logBatches = correctionGrid.batchSize.map(Math.log)

/** For each number of tenants, the index of the grid node below it. */
export const tenantNode: Int32Array = new Int32Array(MAX_MPS_CLIENTS + 1)
/** For each number of tenants, its position between `tenantNode` (0) and the next grid node (1). */
export const tenantNodePart: Float64Array = new Float64Array(MAX_MPS_CLIENTS + 1)
for (let count = 1; count <= MAX_MPS_CLIENTS; count++) {
  const { node, part } = position(correctionGrid.tenants, count)
  tenantNode[count] = node
  tenantNodePart[count] = part
}

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
    hostSpeed: factor(hostSpeed, batchNodes(batchSize)),
    dynamicPower: factor(found?.dynamicPower),
    speedVariance: variance(found?.speedSd),
    powerVariance: variance(found?.powerSd),
  }
}

/** Value for a number of tenants, interpolated between two nodes. */
function amongNodes(tenants: number, at: (node: number) => number): number {
  const node = tenantNode[tenants]!
  const below = at(node)
  return below + tenantNodePart[tenants]! * (at(node + 1) - below)
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
  return amongTenants(kindNodes(mpsPercent, batchSize), tenants)
}

/** Nodes of the host grid around a tenant, with weights that sum to 1. */
export function hostNodesOf(batchSize: number, tenants: number): WeightedNode[] {
  return amongTenants(batchNodes(batchSize), tenants)
}

function amongTenants(nodes: readonly WeightedNode[], tenants: number): WeightedNode[] {
  const count = Math.min(tenants, MAX_MPS_CLIENTS)
  const node = tenantNode[count]!
  const part = tenantNodePart[count]!
  return nodes.flatMap(({ index, weight }) =>
    [
      { index: index * TENANT_NODES + node, weight: weight * (1 - part) },
      { index: index * TENANT_NODES + node + 1, weight: weight * part },
    ].filter((entry) => entry.weight > 0),
  )
}

/** Nodes of share and batch around a kind of tenant, with their weights. */
function kindNodes(mpsPercent: number, batchSize: number): WeightedNode[] {
  const share = position(logShares, Math.log(mpsPercent))
  const batch = position(logBatches, Math.log(batchSize))
  const corner = (s: number, b: number) => ({
    index: (share.node + s) * BATCH_NODES + batch.node + b,
    weight: (s === 1 ? share.part : 1 - share.part) * (b === 1 ? batch.part : 1 - batch.part),
  })
  return [corner(0, 0), corner(0, 1), corner(1, 0), corner(1, 1)].filter((entry) => entry.weight > 0)
}

function batchNodes(batchSize: number): WeightedNode[] {
  const { node, part } = position(logBatches, Math.log(batchSize))
  const both = [
    { index: node, weight: 1 - part },
    { index: node + 1, weight: part },
  ]
  return both.filter((entry) => entry.weight > 0)
}

/** Locate a value between two nodes; values beyond the ends are clamped to them. */
function position(nodes: readonly number[], value: number): { node: number; part: number } {
  let node = 0
  while (node < nodes.length - 2 && value > nodes[node + 1]!) node++
  const part = (value - nodes[node]!) / (nodes[node + 1]! - nodes[node]!)
  return { node, part: Math.min(1, Math.max(0, part)) }
}
