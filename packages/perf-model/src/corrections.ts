import { MAX_MPS_CLIENTS } from '@pctodl/platform'
import type { NetworkParameters } from './parameters.js'

/**
 * What the equations leave over is smooth in the logarithms of a tenant's share, its batch and the number of tenants. It is
 * kept as values at the nodes of a grid, one grid for each network, memory clock and quantity, and interpolated linearly
 * (in the logarithms of share and batch; between two numbers of tenants, the factors themselves).
 */
export const correctionGrid = {
  mpsPercent: [5, 10, 20, 40, 100],
  batchSize: [1, 4, 8, 16, 32, 64, 128, 256],
  tenants: [1, 2, 4, 8, 20],
} as const

export const TENANT_NODES = correctionGrid.tenants.length
const BATCH_NODES = correctionGrid.batchSize.length

/** Numbers in one grid: `(share x BATCH_NODES + batch) x TENANT_NODES + tenants`. */
export const CORRECTION_NODES = correctionGrid.mpsPercent.length * BATCH_NODES * TENANT_NODES

const logShares = correctionGrid.mpsPercent.map(Math.log)
const logBatches = correctionGrid.batchSize.map(Math.log)

/** For each number of tenants the node below it, and how far the next one is away, 0..1. */
export const tenantNode = new Int32Array(MAX_MPS_CLIENTS + 1)
export const tenantNodePart = new Float64Array(MAX_MPS_CLIENTS + 1)
for (let count = 1; count <= MAX_MPS_CLIENTS; count++) {
  const { node, part } = position(correctionGrid.tenants, count)
  tenantNode[count] = node
  tenantNodePart[count] = part
}

/** The factors of one kind of tenant as the evaluator reads them: by memory clock, on the speed and then on the power. */
export function writeKindCorrections(
  { corrections }: NetworkParameters,
  memClocksMhz: readonly number[],
  mpsPercent: number,
  batchSize: number,
  out: Float64Array,
  kind: number,
): void {
  memClocksMhz.forEach((memClockMhz, m) => {
    const found = corrections.find((entry) => entry.memClockMhz === memClockMhz)
    const offset = (kind * memClocksMhz.length + m) * 2 * TENANT_NODES
    writeFactors(found?.speed ?? [], mpsPercent, batchSize, out, offset)
    writeFactors(found?.dynamicPower ?? [], mpsPercent, batchSize, out, offset + TENANT_NODES)
  })
}

/** The factors of one grid for every node of the number of tenants. */
function writeFactors(
  grid: readonly number[],
  mpsPercent: number,
  batchSize: number,
  out: Float64Array,
  offset: number,
): void {
  if (grid.length === 0) {
    out.fill(1, offset, offset + TENANT_NODES)
    return
  }
  for (let node = 0; node < TENANT_NODES; node++) {
    let sum = 0
    for (const { index, weight } of kindNodes(mpsPercent, batchSize)) sum += weight * grid[index * TENANT_NODES + node]!
    out[offset + node] = Math.exp(sum)
  }
}

/** The nodes of a grid that a measured tenant informs, and their weights, which sum to 1. */
export function correctionNodesOf(mpsPercent: number, batchSize: number, tenants: number) {
  const count = Math.min(tenants, MAX_MPS_CLIENTS)
  const node = tenantNode[count]!
  const part = tenantNodePart[count]!
  return kindNodes(mpsPercent, batchSize).flatMap(({ index, weight }) =>
    [
      { index: index * TENANT_NODES + node, weight: weight * (1 - part) },
      { index: index * TENANT_NODES + node + 1, weight: weight * part },
    ].filter((entry) => entry.weight > 0),
  )
}

/** Nodes of share and batch around a kind of tenant. */
function kindNodes(mpsPercent: number, batchSize: number) {
  const share = position(logShares, Math.log(mpsPercent))
  const batch = position(logBatches, Math.log(batchSize))
  const corner = (s: number, b: number) => ({
    index: (share.node + s) * BATCH_NODES + batch.node + b,
    weight: (s === 1 ? share.part : 1 - share.part) * (b === 1 ? batch.part : 1 - batch.part),
  })
  return [corner(0, 0), corner(0, 1), corner(1, 0), corner(1, 1)].filter((entry) => entry.weight > 0)
}

/** Beyond its ends a grid goes on as it ended. */
function position(nodes: readonly number[], value: number): { node: number; part: number } {
  let node = 0
  while (node < nodes.length - 2 && value > nodes[node + 1]!) node++
  const part = (value - nodes[node]!) / (nodes[node + 1]! - nodes[node]!)
  return { node, part: Math.min(1, Math.max(0, part)) }
}
