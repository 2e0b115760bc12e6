import { type GpuSpec, PctodlError } from '@pctodl/platform'
import { boardNamed } from './boards.js'
import type { Comparison } from './comparison.js'
import { engineOperators, servingPower } from './decoder-comparisons.js'
import {
  capSweepLlm,
  capSweepTraining,
  clockCapGrid,
  dvfsKernels,
  limitUnits,
  mlperfPowerPairs,
} from './power-comparisons.js'
import { number, type Row } from './table.js'
import {
  matrixProducts,
  migNeighbours,
  mpsPairs,
  mpsPower,
  mpsSolo,
  resnetBatch,
  timmThroughput,
} from './throughput-comparisons.js'

interface Check {
  /** A table that has all of these columns is one that this check compares. */
  readonly columns: readonly string[]
  readonly compare: (rows: readonly Row[], spec: GpuSpec, table: string) => Comparison[]
  /** Rows that no comparison uses. */
  readonly leaves: string
}

const checks: readonly Check[] = [
  {
    columns: ['workload', 'cap_w', 'throughput_tok_s', 'power_w', 'sm_clock_mhz'],
    compare: capSweepLlm,
    leaves: 'the row at the highest limit of each workload, which is taken as known',
  },
  {
    columns: ['dataset', 'network', 'optimizer', 'cap_w', 'epoch_s', 'power_w'],
    compare: capSweepTraining,
    leaves:
      'workloads that draw less than 60 % of the highest limit, or that no limit binds; the row at the highest limit',
  },
  {
    columns: ['benchmark', 'sm_clock_lock_mhz', 'cap_w', 'performance', 'power_w'],
    compare: clockCapGrid,
    leaves: 'memory clocks that were changed; limits that do not bind; one row a code, which is taken as known',
  },
  {
    columns: ['kernel', 'sm_clock_mhz', 'time_ms', 'dram_active', 'power_w'],
    compare: dvfsKernels,
    leaves: 'kernels that use DRAM, draw little or do not follow the clock; the lowest clocks',
  },
  {
    columns: ['device', 'case', 'workload', 'temperature_c', 'power_w'],
    compare: limitUnits,
    leaves: 'workloads that the limit does not bind',
  },
  {
    columns: ['pair', 'mode', 'benchmark', 'power_limit_configured_w', 'throughput_per_s'],
    compare: mlperfPowerPairs,
    leaves: 'benchmarks other than offline ResNet-50; pairs without a configured limit',
  },
  {
    columns: ['model', 'img_size', 'batch_size', 'samples_per_s', 'layout', 'compile'],
    compare: timmThroughput,
    leaves:
      'networks whose layers we do not have, other sizes than 224 pixels, other precisions than amp, compiled networks',
  },
  {
    columns: ['framework', 'network', 'precision', 'batch_size', 'images_per_s'],
    compare: resnetBatch,
    leaves: 'networks other than ResNet-50, XLA, and the smallest batch of each curve, which is taken as known',
  },
  {
    columns: ['network', 'batch_size', 'share_pct', 'latency_ms', 'dram_throughput_pct'],
    compare: mpsSolo,
    leaves: 'networks that the zoo lacks',
  },
  {
    columns: ['network_a', 'network_b', 'share_a_pct', 'latency_a_ms', 'solo_latency_a_ms'],
    compare: mpsPairs,
    leaves: 'rows without a solo latency',
  },
  {
    columns: ['network', 'share_pct', 'processes', 'power_w', 'sm_clock_mhz'],
    compare: mpsPower,
    leaves: 'networks that the zoo lacks',
  },
  { columns: ['network', 'share_pct_each', 'processes', 'power_w', 'sm_clock_mhz'], compare: mpsPower, leaves: 'none' },
  {
    columns: ['num_tokens', 'n_embd', 'n_expanded_embd', 'attn_pre_proj_ms'],
    compare: matrixProducts,
    leaves: 'products below 30 us, and operators that are no products',
  },
  {
    columns: ['model', 'tensor_parallel', 'prompt_tokens', 'per_token_ms', 'power_mean_rel'],
    compare: servingPower,
    leaves: 'other models, prompts above 2048 tokens, rows without power',
  },
  {
    columns: ['slice', 'neighbours', 'benchmark', 'scenario', 'throughput_per_s'],
    compare: migNeighbours,
    leaves: 'scenarios other than offline',
  },
  ...[['m', 'n', 'k'], ['past_kv_len'], ['seq_len', 'num_heads']].map((columns) => ({
    columns: ['board', 'backend', 'dtype', 'latency_ms', 'power_w', ...columns],
    compare: engineOperators,
    leaves: 'formats other than bfloat16, windows, rows below .2 ms, and all but an even part',
  })),
]

/** Tables whose rows nothing here can be held against, and why. */
const notCompared: Readonly<Record<string, string>> = {
  arrivals_azure_llm_code: 'arrivals of requests: no board',
  arrivals_azure_llm_conv: 'arrivals of requests: no board',
  cap_sweep_diffusion_v100: 'peaks and minima only',
  dvfs_training_caffe: 'training; memory clocks that no specification has',
  mlperf_throughput: 'INT8 engines and several boards a server',
  training_throughput_boards: 'training, with the input pipeline in the figure',
  solo_kernel_utilisation: 'profiler clocks, and a mean over kernels of unknown number',
  sharing_training_pairs: 'training, with the input pipeline in the figure',
  sensor_boards: 'the spread of gains was taken from it',
  sensor_step_response: 'time constants were taken from it; a test replays the step',
}

/** What became of the rows of a table and board: every row of every table is in exactly one of these. */
export interface RowsOfBoard {
  readonly table: string
  readonly board: string
  readonly rows: number
  /** Values compared. */
  readonly values: number
  /** Why rows, or all of them, are not compared. */
  readonly reason: string
}

export interface TableComparisons {
  readonly comparisons: readonly Comparison[]
  readonly accounts: readonly RowsOfBoard[]
}

/** Compare every table of a folder by its columns, each board in it by itself. Nothing throws: what cannot be compared says why. */
export function compareTables(tables: ReadonlyMap<string, readonly Row[]>): TableComparisons {
  const comparisons: Comparison[] = []
  const accounts: RowsOfBoard[] = []
  for (const [table, rows] of tables) {
    for (const [board, own] of byBoard(table, rows)) {
      const { found, reason } = comparisonsOf(table, board, own)
      comparisons.push(...found)
      const values = found.reduce((sum, { points }) => sum + points.length, 0)
      accounts.push({ table, board, rows: own.length, values, reason })
    }
  }
  for (const [table, rows] of tables) {
    if (rows.length === 0) accounts.push({ table, board: '', rows: 0, values: 0, reason: 'refused: no rows' })
  }
  return { comparisons, accounts }
}

function comparisonsOf(table: string, board: string, rows: readonly Row[]): { found: Comparison[]; reason: string } {
  const refused = (reason: string) => ({ found: [], reason: `refused: ${reason}` })
  const why = notCompared[table]
  if (why !== undefined) return refused(why)
  const columns = Object.keys(rows[0] ?? {})
  const check = checks.find((each) => each.columns.every((column) => columns.includes(column)))
  if (!check) return refused(`no comparison for the columns ${columns.join(', ')}`)
  if (board === '') return refused('no column `board`, and the name of the table does not end in one')
  try {
    const caps = rows.map((row) => number(row, 'cap_w')).filter(Number.isFinite)
    const spec = boardNamed(board, caps.length > 0 ? Math.max(...caps) : undefined)
    const capped = rows.filter((row) => !row['cap_w'] || number(row, 'cap_w') > 0)
    const all = check.compare(capped, spec, table)
    const found = all
      .map((each) => ({ ...each, points: each.points.filter(isComparable(each)) }))
      .filter(({ points }) => points.length > 0)
    const lost = sumOf(all) - sumOf(found) + rows.length - capped.length
    const left = `left out: ${check.leaves}${lost > 0 ? `; ${lost} values that are no positive numbers` : ''}`
    return found.length > 0 ? { found, reason: left } : refused(`no row to compare; ${left}`)
  } catch (error) {
    if (error instanceof PctodlError) return refused(error.message)
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    // A field that the table leaves empty where its kind has one.
    return refused(`its rows are incomplete (${error.message})`)
  }
}

const isComparable =
  ({ errors }: Comparison) =>
  ({ measured, simulated }: Comparison['points'][number]) =>
    Number.isFinite(measured) && Number.isFinite(simulated) && (errors === 'points' || measured > 0)

const sumOf = (all: readonly Comparison[]) => all.reduce((sum, { points }) => sum + points.length, 0)

function byBoard(table: string, rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const board = row['board'] ?? row['board_name_as_given'] ?? boardOfTable(table)
    const group = groups.get(board)
    if (group) group.push(row)
    else groups.set(board, [row])
  }
  return groups
}

/** `sharing_mps_solo_v100` is of a V100. */
function boardOfTable(table: string): string {
  try {
    return boardNamed(table.split('_').at(-1)!).key
  } catch {
    return ''
  }
}
