/**
 * Fit the operators of language models: `tsx --conditions=@pctodl/source scripts/fit-operators.ts <folder>` reads the tables of measured
 * operators (NVIDIA aiconfigurator, Apache-2.0) in `<folder>`, prints the errors on rows and on shapes that the fit has not seen, and
 * writes `src/operators/parameters.json` and rows of unseen shapes for the tests.
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { leastSquares, median, quantile } from '@pctodl/numerics'
import { findOperatorBoard, type OperatorBoard } from '../src/operators/operator-board.js'
import {
  type LinearLaw,
  lawPower,
  lawTime,
  powerTraits,
  shapelessTraits,
  usagePower,
  usageTraits,
} from '../src/operators/operator-law.js'
import { type Attention, type Operator, type OperatorWork, operatorWork } from '../src/operators/operator-work.js'
import { ridge } from './ridge.js'

const folder = process.argv[2]
if (folder === undefined) throw new Error('usage: fit-operators.ts <folder with the tables of measured operators>')
const home = join(import.meta.dirname, '..')

interface Row {
  readonly key: string
  readonly board: OperatorBoard
  readonly backend: string
  readonly operator: Operator
  readonly work: OperatorWork
  readonly seconds: number
  /** Null if power was not measured, or if the kernel was too short for it. */
  readonly watts: number | null
  /** True if the sensor was read as the load began, or lagged behind the load. */
  readonly lagging: boolean
  /** Held out alone, and held out with all rows of its shape. */
  readonly rowHeldOut: boolean
  readonly shapeHeldOut: boolean
}

const files = {
  gemm: 'gemm.csv.gz',
  prefill: 'context_attention.csv.gz',
  decode: 'generation_attention.csv.gz',
  moe: 'moe.csv.gz',
}

const quarter = (text: string) => createHash('sha256').update(text).digest()[0]! % 4 === 0

function operatorOf(kind: keyof typeof files, cell: (name: string) => string): Operator {
  const n = (name: string) => Number(cell(name))
  const dtype = cell('dtype') as Operator['dtype']
  if (kind === 'gemm') return { kind, dtype, m: n('m'), n: n('n'), k: n('k') }
  if (kind === 'moe') {
    const [topk, experts, skewed] = [n('topk'), n('num_experts'), cell('distribution') !== 'balanced']
    const inter = n('inter_size') / n('tp_size')
    return { kind, dtype, tokens: n('num_tokens'), hidden: n('hidden_size'), inter, topk, experts, skewed }
  }
  return {
    kind,
    dtype,
    kvDtype: cell('kv_dtype') as Attention['kvDtype'],
    batch: n('batch_size'),
    length: n(kind === 'prefill' ? 'seq_len' : 'past_kv_len'),
    heads: n('num_heads'),
    kvHeads: n('num_kv_heads'),
    headDim: n('head_dim'),
    window: n('window_size'),
  }
}

function shapeOf(operator: Operator): string {
  if (operator.kind === 'gemm') return `${operator.n},${operator.k}`
  if (operator.kind === 'moe') return `${operator.hidden},${operator.inter},${operator.experts}`
  return `${operator.batch},${operator.heads},${operator.kvHeads},${operator.headDim}`
}

/** Tables without rows of small shapes, whose time was the host's. */
const hostBound = new Set<string>()

function readTable(kind: keyof typeof files): Row[] {
  const [head, ...lines] = gunzipSync(readFileSync(join(folder!, files[kind])))
    .toString('utf8')
    .trim()
    .split('\n')
    .map((line) => line.trim().split(','))
  const column = new Map(head!.map((name, i) => [name, i]))
  return lines.flatMap((cells) => {
    const cell = (name: string) => cells[column.get(name)!]!
    const backend = cell('backend')
    if (cell('host_bound') === '1') {
      hostBound.add(`${findOperatorBoard(cell('board')).measuredAs} ${backend} ${kind} ${cell('dtype')}`)
      return []
    }
    // The A100 of the tables is the one with 80 GB and 400 W.
    const board = findOperatorBoard(cell('board') === 'A100' ? 'A100-80GB' : cell('board'))
    const operator = operatorOf(kind, cell)
    const seconds = Number(cell('latency_ms')) / 1000
    const measured = cell('power_w') !== '' && seconds >= 2e-4
    const watts = measured ? Number(cell('power_w')) : null
    const few = Number(cell('power_samples_divisor')) <= 2
    const { kind: _, dtype, ...shape } = operator
    return {
      key: [board.measuredAs, backend, kind, dtype, ...('kvDtype' in operator ? [operator.kvDtype] : [])].join(' '),
      board,
      backend,
      operator,
      work: operatorWork(operator, board),
      seconds,
      watts,
      lagging:
        (few && watts !== null && watts < 0.3 * board.powerLimitW) ||
        (operator.kind === 'prefill' && operator.length >= 16384),
      rowHeldOut: quarter(`row ${kind} ${Object.values(shape)}`),
      shapeHeldOut: quarter(`shape ${kind} ${shapeOf(operator)}`),
    }
  })
}

interface Fit {
  readonly time: LinearLaw
  readonly power?: LinearLaw
}

const atLimit = 0.9

/** At the limit, a reading shows only that the load demands this power or more. */
function fitGroup(rows: readonly Row[]): Fit {
  const time = ridge(rows.map(({ work, seconds }) => ({ traits: work.traits, target: Math.log(seconds / work.baseS) })))
  const withPower = rows.filter(({ watts, lagging }) => watts !== null && !lagging)
  if (withPower.length < 100) return { time }
  // Experts were measured with too few shapes for a law of the shape.
  const count = rows[0]!.operator.kind === 'moe' ? shapelessTraits : undefined
  const power = ridge(withPower.map((row) => powerRow(row, time, count)))
  return { time, power }
}

function powerRow(row: Row, time: LinearLaw, count?: number) {
  const part = row.watts! / row.board.powerLimitW
  const traits = powerTraits(row.operator, row.work, row.board, lawTime(time, row.work))
  return { traits: traits.slice(0, count), target: Math.log(Math.min(part, atLimit)), atLeast: part >= atLimit }
}

const groups = new Map<string, Row[]>()
for (const kind of Object.keys(files) as (keyof typeof files)[])
  for (const row of readTable(kind)) {
    const group = groups.get(row.key) ?? []
    group.push(row)
    groups.set(row.key, group)
  }

const percent = (errors: readonly number[]) =>
  errors.length < 5 ? '-' : `${(100 * median(errors)).toFixed(1)} / ${(100 * quantile(errors, 0.9)).toFixed(1)}`
const relative = (predicted: number, measured: number) => Math.abs(predicted / measured - 1)
const modelWatts = ({ work, operator, board }: Row, { time, power }: Fit) =>
  lawPower(power!, powerTraits(operator, work, board, lawTime(time, work)), board)

/** `idle + a FLOP/s + b byte/s`, least squares on rows below the limit. */
function baseline(rows: readonly Row[]): (row: Row) => number {
  const terms = ({ work, seconds }: Row) => [1, work.flop / seconds / 1e15, work.bytes / seconds / 1e12]
  const x = leastSquares(
    rows.map(terms),
    rows.map(({ watts }) => watts!),
  )
  return (row) => terms(row).reduce((sum, term, j) => sum + term * x[j]!, 0)
}

const below = ({ watts, board }: Row) => watts !== null && watts < atLimit * board.powerLimitW

interface Errors {
  time: number[]
  watts: number[]
  settled: number[]
  baseline: number[]
  /** Predicted power of readings at the limit, as a fraction of it. */
  limited: number[]
}

function errorsOf(rows: readonly Row[], heldOut: (row: Row) => boolean): { fit: Fit; errors: Errors } {
  const training = rows.filter((row) => !heldOut(row))
  const fit = fitGroup(training)
  const tested = rows.filter(heldOut)
  const errors: Errors = {
    time: tested.map(({ work, seconds }) => relative(lawTime(fit.time, work), seconds)),
    watts: [],
    settled: [],
    baseline: [],
    limited: [],
  }
  const powered = tested.filter(below)
  if (fit.power === undefined || powered.length === 0) return { fit, errors }
  const limited = tested.filter((row) => row.watts !== null && !below(row))
  errors.limited = limited.map((row) => modelWatts(row, fit) / row.board.powerLimitW)
  const plain = baseline(training.filter(below))
  for (const row of powered) {
    const error = relative(modelWatts(row, fit), row.watts!)
    errors.watts.push(error)
    if (!row.lagging) errors.settled.push(error)
    errors.baseline.push(relative(plain(row), row.watts!))
  }
  return { fit, errors }
}

const shipped: Record<string, Fit> = {}
const totals = new Map<string, Errors>()
const lines: string[] = []
console.log('errors: median / 90 %; unseen rows | unseen shapes; watts of rows below 0.9 of the limit')
for (const [key, rows] of groups) {
  const splits = [(row: Row) => row.rowHeldOut, (row: Row) => row.shapeHeldOut].map((split) => errorsOf(rows, split))
  shipped[key] = splits[1]!.fit
  for (const [i, { errors }] of splits.entries()) {
    const [board, backend, kind] = key.split(' ')
    for (const name of [`all ${kind}`, `${board} ${backend} ${kind}`]) {
      const label = `${name}, unseen ${i === 0 ? 'rows' : 'shapes'}`
      const total = totals.get(label) ?? { time: [], watts: [], settled: [], baseline: [], limited: [] }
      for (const field of Object.keys(total) as (keyof Errors)[]) total[field].push(...errors[field])
      totals.set(label, total)
    }
  }
  const cells = splits.map(
    ({ errors: { time, watts, baseline } }) =>
      `time ${percent(time)}, watts ${percent(watts)}, baseline ${percent(baseline)}`,
  )
  lines.push(`${key} (${rows.length}): ${cells.join(' | ')}`)
}
console.log(lines.join('\n'))
console.log('\nby operator and board')
for (const [label, { time, watts, settled, baseline, limited }] of [...totals].sort())
  console.log(
    `${label}: time ${percent(time)} (${time.length})` +
      (watts.length === 0
        ? ''
        : `, watts ${percent(watts)}, of settled readings ${percent(settled)}, baseline ${percent(baseline)} (${watts.length}), at the limit ${limited.length}, of them predicted below 0.75: ${limited.filter((part) => part < 0.75).length}`),
  )

// What no law of the shape can tell apart: a product and the next row; prefills with the same FLOP and other key-value heads.
console.log('\nnoise floor of watts: pairs of rows whose times are within 3 %, settled, below 0.9 of the limit')
for (const name of ['H200 vllm', 'GB200 trtllm', 'GB200 vllm'])
  for (const kind of ['gemm', 'prefill'] as const) {
    const differences = [...groups].flatMap(([key, rows]) => {
      if (!key.startsWith(`${name} ${kind} `)) return []
      const settled = rows.filter((row) => below(row) && !row.lagging)
      const byShape = new Map<string, Row[]>()
      for (const row of settled) {
        const { m: _, kvHeads: __, ...shape } = row.operator as Operator & { m?: number; kvHeads?: number }
        const text = JSON.stringify(shape)
        byShape.set(text, [...(byShape.get(text) ?? []), row])
      }
      const size = ({ operator }: Row) => (operator.kind === 'gemm' ? operator.m : (operator as Attention).kvHeads)
      return [...byShape.values()].flatMap((alike) => {
        const inOrder = alike.sort((a, b) => size(a) - size(b))
        return inOrder.slice(1).flatMap((row, i) => {
          const before = inOrder[i]!
          const near = kind === 'prefill' || size(row) === size(before) + 1
          return near && relative(row.seconds, before.seconds) < 0.03 ? [relative(row.watts!, before.watts!)] : []
        })
      })
    })
    console.log(`${name} ${kind}: ${percent(differences)} (${differences.length} pairs)`)
  }

const usageOf = (row: Row) => {
  const { operator, work, board, key } = row
  return usageTraits(operator, powerTraits(operator, work, board, lawTime(shipped[key]!.time, work)))
}

/** Robust fit of relative errors. A weight below zero is left out. */
function fitUsage(rows: readonly Row[]): number[] {
  const all = rows.map((row) => ({
    inputs: usageOf(row),
    part: Math.min(atLimit, row.watts! / row.board.powerLimitW),
  }))
  let used = [0, 1, 2, 3]
  for (;;) {
    let weights = new Float64Array(used.length)
    for (let round = 0; round < 12; round++) {
      const scaled = all.flatMap(({ inputs, part }) => {
        const relative = used.map((i) => inputs[i]! / part)
        const error = round === 0 ? 0 : relative.reduce((sum, input, i) => sum + weights[i]! * input, -1)
        if (part === atLimit && error > 0) return []
        const scale = Math.sqrt((part === atLimit ? 0.1 : 1) / Math.max(0.15, Math.abs(error)))
        return [{ inputs: relative.map((input) => scale * input), target: scale }]
      })
      weights = leastSquares(
        scaled.map(({ inputs }) => inputs),
        scaled.map(({ target }) => target),
      ) as typeof weights
    }
    const kept = used.filter((_, i) => weights[i]! >= 0)
    if (kept.length === used.length)
      return [0, 1, 2, 3].map((i) => (used.includes(i) ? Number(weights[used.indexOf(i)]!.toPrecision(5)) : 0))
    used = kept
  }
}

// Boards without measured power use the power law of another board, by the use of the peaks alone.
const usage: Record<string, readonly number[]> = {}
const powered = [...groups].filter(([key]) => shipped[key]!.power !== undefined)
for (const board of ['H200', 'GB200']) {
  const own = powered.filter(([key]) => key.startsWith(`${board} `))
  usage[board] = fitUsage(
    own.flatMap(([, rows]) =>
      rows.filter(({ watts, lagging, shapeHeldOut }) => watts !== null && !lagging && !shapeHeldOut),
    ),
  )
}
console.log(
  '\nwatts by the use of the peaks alone (settled readings below 0.9 of the limit): of the fitted board, of the other one',
)
for (const kind of Object.keys(files))
  for (const to of ['H200', 'GB200']) {
    const settled = powered
      .filter(([key]) => key.startsWith(`${to} `) && key.includes(` ${kind} `))
      .flatMap(([, rows]) => rows.filter((row) => row.watts !== null && !row.lagging))
    const tested = settled.filter(below)
    const watts = (from: string, row: Row) => usagePower(usage[from]!, usageOf(row), row.board)
    const errors = (from: string, rows: typeof tested) => rows.map((row) => relative(watts(from, row), row.watts!))
    const other = to === 'H200' ? 'GB200' : 'H200'
    const unseen = tested.filter((row) => row.shapeHeldOut)
    const limited = settled.filter((row) => !below(row))
    const low = limited.filter((row) => watts(other, row) < 0.75 * row.board.powerLimitW)
    console.log(
      `${kind} of ${to}: by its own ${percent(errors(to, unseen))}, by ${other} ${percent(errors(other, tested))} (${tested.length}), at the limit ${limited.length}, of them predicted below 0.75: ${low.length}`,
    )
  }

const source =
  'Fitted to measured operators of ai-dynamo/aiconfigurator, commit 095f58a51c4ca8e61b66ec108d86f223f8d559ce (July 2026); Copyright (c) 2025-2026 NVIDIA CORPORATION & AFFILIATES'
const law = ({ weights, range }: LinearLaw) => `{ "weights": [${weights}], "range": [${range}] }`
// The time of experts of one model says nothing about others, and that of large products nothing about small ones, if
// another backend measured more.
const models = (key: string) =>
  new Set(groups.get(key)?.map(({ operator }) => 'experts' in operator && operator.experts))
// In fp8, the kernel of vLLM 0.24 for experts takes 2.3 times as long as bfloat16; on the same chip, vLLM 0.22 takes 0.65 times.
const isNarrow = (key: string) => {
  if (key === 'H100 vllm moe fp8') return true
  const other = key.replace(' vllm ', ' trtllm ')
  const size = (name: string) => groups.get(name)?.length ?? 0
  return (hostBound.has(key) && size(other) > size(key)) || (models(key).size < 2 && models(other).size > 1)
}
const entries = Object.entries(shipped).flatMap(([key, { time, power }]) => {
  const fields = [...(isNarrow(key) ? [] : [`"time": ${law(time)}`]), ...(power ? [`"power": ${law(power)}`] : [])]
  return fields.length === 0 ? [] : [`    ${JSON.stringify(key)}: { ${fields.join(', ')} }`]
})
writeFileSync(
  join(home, 'src', 'operators', 'parameters.json'),
  `{\n  "source": ${JSON.stringify(source)},\n  "licence": "Apache-2.0",\n  "usage": { ${Object.entries(usage).map(([board, each]) => `"${board}": [${each}]`)} },\n  "laws": {\n${entries.join(',\n')}\n  }\n}\n`,
)

// Unseen shapes for the tests: evenly over the groups, and more of those with settled watts below the limit.
const thinned = (rows: readonly Row[], most: number) =>
  rows.filter((_, i) => i % Math.max(1, Math.ceil(rows.length / most)) === 0)
const sample = [...groups.values()].flatMap((rows) => {
  const unseen = rows.filter((row) => row.shapeHeldOut)
  return [
    ...new Set([
      ...thinned(unseen, 4),
      ...thinned(
        unseen.filter((row) => below(row) && !row.lagging),
        8,
      ),
    ]),
  ]
})
writeFileSync(
  join(home, 'test', 'operators-unseen.jsonl'),
  sample
    .map(
      ({ board, backend, operator, seconds, watts, lagging }) =>
        `${JSON.stringify({ board: board.name, backend, operator, seconds, watts: lagging ? null : watts })}\n`,
    )
    .join(''),
)
