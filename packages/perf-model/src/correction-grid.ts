/**
 * Nodes of the correction grids. A grid corrects the residual of the equations, which is smooth in the logarithms of
 * share, batch size and number of tenants. Each network, memory clock and quantity has its own grid. The logarithm of
 * the correction factor is interpolated linearly over the logarithms of share and batch size. Between two numbers of
 * tenants, the factor itself is interpolated linearly.
 */
export const correctionGrid = {
  mpsPercent: [2, 5, 10, 20, 40, 100],
  batchSize: [1, 4, 8, 16, 32, 64, 128, 256],
  tenants: [1, 2, 4, 8, 20],
} as const

export const TENANT_NODES: number = correctionGrid.tenants.length
/**
 * Number of values in a host grid, which does not depend on the share. A value has the index `batch x TENANT_NODES +
 * tenants`.
 */
export const HOST_NODES: number = correctionGrid.batchSize.length * TENANT_NODES

/** Number of values in one grid. A value has the index `share x HOST_NODES + batch x TENANT_NODES + tenants`. */
export const CORRECTION_NODES: number = correctionGrid.mpsPercent.length * HOST_NODES
