import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import { BATCH_NODES, correctionGrid, TENANT_NODES } from './correction-grid.js'
import type { NetworkParameters } from './parameters.js'

const logShares = correctionGrid.mpsPercent.map(Math.log)
const logBatches = correctionGrid.batchSize.map(Math.log)

/** For each number of tenants, the index of the grid node below it. */
export const tenantNode: Int32Array = new Int32Array(MAX_MPS_CLIENTS + 1)
/** For each number of tenants, its position between that node and the next, 0..1. */
export const tenantNodePart: Float64Array = new Float64Array(MAX_MPS_CLIENTS + 1)
for (let count = 1; count <= MAX_MPS_CLIENTS; count++) {
  const { node, part } = position(correctionGrid.tenants, count)
  tenantNode[count] = node
  tenantNodePart[count] = part
}

/** Factors per kind of tenant (device speed, host speed, dynamic power), each at every node of the tenant count. */
export const CORRECTIONS = 3

/** Write the factors of one kind of tenant in the layout of the evaluator, by memory clock. */
export function writeKindCorrections(
  { corrections, hostSpeed }: NetworkParameters,
  memClocksMhz: readonly number[],
  mpsPercent: number,
  batchSize: number,
  out: Float64Array,
  kind: number,
): void {
  memClocksMhz.forEach((memClockMhz, m) => {
    const found = corrections.find((entry) => entry.memClockMhz === memClockMhz)
    const offset = (kind * memClocksMhz.length + m) * CORRECTIONS * TENANT_NODES
    writeFactors(found?.speed ?? [], kindNodes(mpsPercent, batchSize), out, offset)
    writeFactors(hostSpeed, batchNodes(batchSize), out, offset + TENANT_NODES)
    writeFactors(found?.dynamicPower ?? [], kindNodes(mpsPercent, batchSize), out, offset + 2 * TENANT_NODES)
  })
}

/** Write the factors of one grid for every node of the tenant count. */
function writeFactors(
  grid: readonly number[],
  nodes: readonly WeightedNode[],
  out: Float64Array,
  offset: number,
): void {
  for (let node = 0; node < TENANT_NODES; node++) {
    let sum = 0
    if (grid.length > 0) for (const { index, weight } of nodes) sum += weight * grid[index * TENANT_NODES + node]!
    out[offset + node] = Math.exp(sum)
  }
}

/** Write a grid of standard deviations for every node of the tenant count; `unknown` replaces missing values. */
export function writeDeviations(
  grid: readonly number[],
  mpsPercent: number,
  batchSize: number,
  unknown: number,
  out: Float64Array,
  offset: number,
): void {
  const nodes = kindNodes(mpsPercent, batchSize)
  for (let node = 0; node < TENANT_NODES; node++) {
    let sum = 0
    for (const { index, weight } of nodes) sum += weight * (grid[index * TENANT_NODES + node] ?? unknown)
    out[offset + node] = sum
  }
}

/** A node of a grid and its interpolation weight. */
export interface WeightedNode {
  readonly index: number
  readonly weight: number
}

/** The device grid's nodes around a tenant, with weights that sum to 1. */
export function correctionNodesOf(mpsPercent: number, batchSize: number, tenants: number): WeightedNode[] {
  return amongTenants(kindNodes(mpsPercent, batchSize), tenants)
}

/** The host grid's nodes around a tenant, with weights that sum to 1. */
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
