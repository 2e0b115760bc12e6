import { levenbergMarquardt } from '@pctodl/numerics'
import type { BoardParameters, NetworkParameters } from '../parameters.js'
import type { TableRow, TraceTable } from './trace-table.js'

/**
 * Fit the GPU memory in use: a reserve, and for each tenant a base and a part per sample, all >= 0. The problem is
 * linear; the nonlinear solver is used because it supports bounds. Rows without a measurement are left out. If no row
 * has a measurement, all parameters stay unchanged.
 */
export function fitMemory(
  table: TraceTable,
  rows: readonly TableRow[],
  board: BoardParameters,
  networks: readonly NetworkParameters[],
): void {
  const measured = rows.filter((row) => row.row.memoryUsedBytes !== null)
  if (measured.length === 0) return
  const columns = 1 + 2 * networks.length
  const design = new Float64Array(measured.length * columns)
  measured.forEach((row, r) => {
    design[r * columns] = 1
    for (const index of row.kinds) {
      const kind = table.kinds[index]!
      design[r * columns + 1 + 2 * kind.network]! += 1
      design[r * columns + 2 + 2 * kind.network]! += kind.batchSize
    }
  })
  const { parameters } = levenbergMarquardt(
    {
      parameterCount: columns,
      residualCount: measured.length,
      residuals(point, out) {
        measured.forEach((row, r) => {
          let mib = -row.row.memoryUsedBytes! / 1024 ** 2
          for (let j = 0; j < columns; j++) mib += design[r * columns + j]! * point[j]!
          out[r] = mib / 100
        })
      },
      jacobian(_point, _residuals, out) {
        for (let i = 0; i < design.length; i++) out[i] = design[i]! / 100
      },
    },
    new Float64Array(columns).fill(1),
    { lower: new Float64Array(columns), huber: 1, maxIterations: 50 },
  )
  board.memoryReservedMib = parameters[0]!
  networks.forEach((network, k) => {
    network.memoryBaseMib = parameters[1 + 2 * k]!
    network.memoryPerSampleMib = parameters[2 + 2 * k]!
  })
}
