/**
 * Layout of the correction grids. The residual of the equations is smooth in the logarithms of a tenant's share, its
 * batch and the number of tenants. There is one grid of node values for each network, memory clock and quantity,
 * interpolated linearly (in the logarithms of share and batch; between two numbers of tenants, the factors themselves).
 */
export const correctionGrid = {
  mpsPercent: [2, 5, 10, 20, 40, 100],
  batchSize: [1, 4, 8, 16, 32, 64, 128, 256],
  tenants: [1, 2, 4, 8, 20],
} as const

export const TENANT_NODES: number = correctionGrid.tenants.length
export const BATCH_NODES: number = correctionGrid.batchSize.length

/** Values in one grid, at index `(share x BATCH_NODES + batch) x TENANT_NODES + tenants`. */
export const CORRECTION_NODES: number = correctionGrid.mpsPercent.length * BATCH_NODES * TENANT_NODES

/** Values in a host grid, which does not depend on the share, at index `batch x TENANT_NODES + tenants`. */
export const HOST_NODES: number = BATCH_NODES * TENANT_NODES
