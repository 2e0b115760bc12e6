import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { findGpuSpec, InvalidInputError } from '@pctodl/platform'
import { parseTraceCsv } from '@pctodl/platform/trace-csv'
import { simulateSteadyState } from '../../src/index.js'
import type { Comparison, Point } from './comparison.js'
import { decoderComparisons } from './decoder-comparisons.js'
import { readTables } from './table.js'

/**
 * The rows that `pctodl prove` measured on a board against the simulated one, and operators of language models, if the folder has them
 * (`evidence/operators.py`); null for a folder without such rows.
 */
export function proofComparisons(folder: string): Comparison[] | null {
  const file = path.join(folder, 'rows.csv')
  if (!existsSync(file)) return null
  const tables = readTables(folder)
  const manifest = path.join(folder, 'rows.manifest.json')
  const devices = tables.get('rows')![0]?.['device_list']
  if (!existsSync(manifest) && !devices)
    throw new InvalidInputError('folder', folder, 'rows.csv with device_list, or rows.manifest.json beside it')
  const { key, powerLimitW } = existsSync(manifest)
    ? (JSON.parse(readFileSync(manifest, 'utf8')) as { board: { key: string; powerLimitW: number } }).board
    : { key: devices!.split(';')[0]!, powerLimitW: undefined }
  const spec = findGpuSpec(key)
  const truth = simulateSteadyState(spec, {
    host: 'eager-pytorch-nchw',
    launch: 'graph',
    ...(powerLimitW === undefined ? {} : { powerLimitW }),
  })
  const rows = parseTraceCsv(readFileSync(file, 'utf8')).filter(({ failed }) => !failed)
  const points = rows.map((row) => {
    const { tenants, memClockMhz, targetSmClockMhz } = row
    const state = truth({ tenants, smClockMhz: targetSmClockMhz ?? spec.boostClockMhz, memClockMhz })
    const label = tenants
      .map(({ model, mpsPercent, batchSize }) => `${model} ${mpsPercent} % x ${batchSize}`)
      .join(', ')
    return {
      kind:
        tenants.length > 1 ? 'mixes' : /^(gemm|attention|stream)_/.test(tenants[0]!.model) ? 'operators' : 'networks',
      throughput: { label, measured: row.throughput, simulated: state.throughput },
      power: { label, measured: row.powerAverageW, simulated: state.powerW },
    }
  })
  const common = {
    table: 'pctodl prove',
    board: spec.key,
    errors: 'relative',
    baseline: 'none',
  } as const
  const kinds = ['operators', 'networks', 'mixes'] as const
  const comparisons = kinds.flatMap((kind) => {
    const own = points.filter((point) => point.kind === kind)
    return (['throughput', 'power'] as const).map(
      (quantity): Comparison => ({
        ...common,
        // Convolutions with channels first were identified on these rows.
        heldOut: kind === 'operators',
        quantity: `${quantity} of ${kind}`,
        points: own.map((point): Point => point[quantity]),
      }),
    )
  })
  const operators = tables.get('operators')
  return [...comparisons, ...(operators ? decoderComparisons(operators, spec) : [])].filter(
    (each) => each.points.length > 0,
  )
}
