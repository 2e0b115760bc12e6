/**
 * What the equations leave over is smooth in the logarithms of a tenant's share, its batch and the number of tenants. It is
 * kept as values at the nodes of a grid, one grid for each network, memory clock and quantity, and interpolated linearly
 * (in the logarithms of share and batch; between two numbers of tenants, the factors themselves).
 */
export const correctionGrid = {
  mpsPercent: [2, 5, 10, 20, 40, 100],
  batchSize: [1, 4, 8, 16, 32, 64, 128, 256],
  tenants: [1, 2, 4, 8, 20],
} as const

export const TENANT_NODES: number = correctionGrid.tenants.length
export const BATCH_NODES: number = correctionGrid.batchSize.length

/** Numbers in one grid: `(share x BATCH_NODES + batch) x TENANT_NODES + tenants`. */
export const CORRECTION_NODES: number = correctionGrid.mpsPercent.length * BATCH_NODES * TENANT_NODES

/** Numbers in a grid of the host, which does not see shares: `batch x TENANT_NODES + tenants`. */
export const HOST_NODES: number = BATCH_NODES * TENANT_NODES
