import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { findGpuSpec, networkNames } from '@pctodl/platform'
import { parseTraceCsv } from '@pctodl/platform/trace-csv'
import { simulateSteadyState } from '../../src/index.js'
import type { Comparison, Point } from './comparison.js'

/** The rows that `pctodl prove` measured on a board, against the simulated one; null for a folder that is no proof. */
export function proofComparisons(folder: string): Comparison[] | null {
  const manifest = path.join(folder, 'rows.manifest.json')
  if (!existsSync(manifest)) return null
  const { board } = JSON.parse(readFileSync(manifest, 'utf8')) as { board: { key: string; powerLimitW: number } }
  const spec = findGpuSpec(board.key)
  const truth = simulateSteadyState(spec.key, {
    host: 'eager-pytorch',
    launch: 'graph',
    powerLimitW: board.powerLimitW,
  })
  // Microbenchmarks and the transformer are no networks of the zoo.
  const isKnown = (model: string) => (networkNames as readonly string[]).includes(model)
  const points = parseTraceCsv(readFileSync(path.join(folder, 'rows.csv'), 'utf8'))
    .filter(({ failed, tenants }) => !failed && tenants.every(({ model }) => isKnown(model)))
    .map((row) => {
      const { tenants, memClockMhz, targetSmClockMhz } = row
      const smClockMhz = targetSmClockMhz ?? spec.clockStates[0]!.smClocksMhz.at(-1)!
      const state = truth({ tenants, smClockMhz, memClockMhz })
      const label = tenants.map((tenant) => `${tenant.model} ${tenant.mpsPercent} % x ${tenant.batchSize}`).join(', ')
      const throughput = state.tenants.reduce((sum, tenant) => sum + tenant.throughput, 0)
      return {
        throughput: { label, measured: row.throughput, simulated: throughput },
        power: { label, measured: row.powerAverageW, simulated: state.powerW },
      }
    })
  const comparison = (quantity: 'throughput' | 'power'): Comparison => ({
    table: 'pctodl prove',
    board: spec.key,
    quantity,
    errors: 'relative',
    heldOut: true,
    baseline: 'none',
    points: points.map((point): Point => point[quantity]),
  })
  return [comparison('throughput'), comparison('power')]
}
