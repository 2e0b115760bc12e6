/**
 * Compare `pctodl llm` with measured serving: `tsx --conditions=@pctodl/source scripts/check-language-models.ts <measured> <operators>`
 * reads `llm_serving_times.csv`, `llm_operators.csv` and `cap_sweep_llm.csv` in `<measured>`, and `collectives.csv` in `<operators>`
 * for the all-reduces of tensor parallel runs, which the command does not offer.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as graphs from '@pctodl/model-zoo'
import { median, quantile } from '@pctodl/numerics'
import { costOperator, findOperatorBoard, LanguageModelPass } from '../src/llm.js'

const [measured, operators] = process.argv.slice(2)
if (measured === undefined || operators === undefined)
  throw new Error('usage: check-language-models.ts <measured> <operators>')

/** Columns of the tables that this script reads. */
type Row = Readonly<
  Record<
    | ('board' | 'backend' | 'collective' | 'num_gpus' | 'message_bytes' | 'latency_ms')
    | ('model' | 'tensor_parallel' | 'batch_size' | 'prompt_tokens' | 'prefill_ms' | 'per_token_ms' | 'power_mean_rel')
    | ('workload' | 'power_w' | 'throughput_tok_s' | 'sm_clock_mhz'),
    string
  >
>

function read(file: string): Row[] {
  const [head, ...lines] = readFileSync(file, 'utf8').trim().split(/\r?\n/)
  const cells = (line: string) =>
    [...line.matchAll(/"([^"]*)"|([^,]+)|(?<=,)(?=,|$)|^(?=,)/g)].map((m) => m[1] ?? m[2] ?? '')
  const names = cells(head!)
  return lines.map((line) => Object.fromEntries(cells(line).map((value, i) => [names[i]!, value])) as unknown as Row)
}

function show(title: string, ratios: readonly number[]): void {
  const errors = ratios.map((ratio) => Math.abs(ratio - 1))
  const percent = (value: number) => (100 * value).toFixed(1)
  console.log(
    `${title}: median ${percent(median(errors))} %, p90 ${percent(quantile(errors, 0.9))} %, bias ${percent(median(ratios) - 1)} % (${ratios.length})`,
  )
}

const a100 = findOperatorBoard('A100-80GB')
const reduces = read(join(operators, 'collectives.csv')).filter(
  (row) => row.board === 'A100' && row.backend === 'nccl' && row.collective === 'all_reduce',
)

function allReduceS(gpus: number, bytes: number): number {
  const rows = reduces
    .filter((row) => Number(row.num_gpus) === gpus)
    .map((row) => [Number(row.message_bytes), Number(row.latency_ms) / 1000] as const)
  const above = rows.findIndex(([size]) => size >= bytes)
  if (above < 0) return (rows.at(-1)![1] * bytes) / rows.at(-1)![0]
  if (above === 0) return rows[0]![1]
  const [[x0, y0], [x1, y1]] = [rows[above - 1]!, rows[above]!]
  return y0 + ((y1 - y0) * (bytes - x0)) / (x1 - x0)
}

const llama70b = graphs.decoderFromConfig({
  model_type: 'llama',
  hidden_size: 8192,
  intermediate_size: 28672,
  num_hidden_layers: 80,
  num_attention_heads: 64,
  num_key_value_heads: 8,
  vocab_size: 32000,
})
const shard = (gpus: number): graphs.Decoder => ({
  ...llama70b,
  heads: 64 / gpus,
  kvHeads: 8 / gpus,
  inter: 28672 / gpus,
  vocabulary: 32000 / gpus,
})

console.log('Llama 2 70B on A100, prediction over measurement')
const serving = read(join(measured, 'llm_serving_times.csv')).filter((row) => row.model === 'llama2-70b')
for (const gpus of [2, 4, 8]) {
  const rows = serving.filter((row) => Number(row.tensor_parallel) === gpus)
  const estimate = (phase: 'prefill' | 'decode', batch: number, length: number) => {
    const pass = new LanguageModelPass(graphs, shard(gpus), { phase, batch, length }, a100, 'bfloat16').estimates.at(
      -1,
    )!
    const tokens = phase === 'prefill' ? batch * length : batch
    return { ...pass, seconds: pass.seconds + 160 * allReduceS(gpus, 2 * 8192 * tokens) }
  }
  const of = (row: Row) => [Number(row.batch_size), Number(row.prompt_tokens)] as const
  show(
    `${gpus} boards, prefill`,
    rows.map((row) => (1000 * estimate('prefill', ...of(row)).seconds) / Number(row.prefill_ms)),
  )
  show(
    `${gpus} boards, token`,
    rows.map((row) => (1000 * estimate('decode', ...of(row)).seconds) / Number(row.per_token_ms)),
  )
  const powered = rows.filter((row) => Number(row.power_mean_rel) > 0)
  show(
    `${gpus} boards, watts of a run`,
    powered.map((row) => estimate('decode', ...of(row)).watts / 400 / Number(row.power_mean_rel)),
  )
}

console.log('\nproducts of other models on one A100, prediction over measurement')
const products = { attn_pre_proj_ms: [], attn_post_proj_ms: [], mlp_up_proj_ms: [], mlp_down_proj_ms: [] } as Record<
  string,
  number[]
>
for (const row of read(join(measured, 'llm_operators.csv'))) {
  const n = (name: string) => Number((row as Readonly<Record<string, string>>)[name])
  if (!/llama/i.test(row.model)) continue
  const [tp, hidden, inter] = [n('tensor_parallel'), n('n_embd'), n('n_expanded_embd')]
  const qkv = (hidden * (n('n_head') + 2 * n('n_kv_head'))) / n('n_head') / tp
  const sizes: Record<string, [number, number]> = {
    attn_pre_proj_ms: [qkv, hidden],
    attn_post_proj_ms: [hidden, hidden / tp],
    mlp_up_proj_ms: [(2 * inter) / tp, hidden],
    mlp_down_proj_ms: [hidden, inter / tp],
  }
  for (const [name, [width, depth]] of Object.entries(sizes)) {
    const cost = costOperator({ kind: 'gemm', dtype: 'bfloat16', m: n('num_tokens'), n: width, k: depth }, a100)
    products[name]!.push((1000 * cost.atDefault.seconds) / n(name))
  }
}
for (const [name, ratios] of Object.entries(products)) show(name, ratios)

console.log('\nRTX 3090 under a power limit, given the point at the highest limit; other boards were not measured')
const rtx3090 = findOperatorBoard('RTX 3090')
const dense = graphs.decoderFromConfig({
  model_type: 'qwen3',
  hidden_size: 5120,
  intermediate_size: 25600,
  num_hidden_layers: 64,
  num_attention_heads: 64,
  num_key_value_heads: 8,
  head_dim: 128,
  vocab_size: 151936,
})
const sparse = graphs.decoderFromConfig({
  model_type: 'qwen3_moe',
  hidden_size: 2048,
  intermediate_size: 6144,
  moe_intermediate_size: 768,
  num_hidden_layers: 48,
  num_attention_heads: 32,
  num_key_value_heads: 4,
  head_dim: 128,
  num_experts: 128,
  num_experts_per_tok: 8,
  vocab_size: 151936,
})
const sweep = read(join(measured, 'cap_sweep_llm.csv'))
for (const workload of new Set(sweep.map((row) => row.workload))) {
  const rows = sweep.filter((row) => row.workload === workload)
  const phase = workload.startsWith('prefill') ? 'prefill' : 'decode'
  const decoder = workload.includes('A3B') ? sparse : dense
  const pass = new LanguageModelPass(
    graphs,
    decoder,
    { phase, batch: 1, length: 4096 },
    rtx3090,
    decoder === dense ? 'int4_wo' : 'bfloat16',
  )
  const top = rows.reduce((a, b) => (Number(a.power_w) >= Number(b.power_w) ? a : b))
  const full = pass.estimates.at(-1)!
  const [speed, clock]: [number[], number[]] = [[], []]
  let [right, pairs] = [0, 0]
  const perJoule: [number, number][] = []
  for (const row of rows) {
    // The power above idle is scaled to that of the measured point.
    const scale = (full.watts - rtx3090.idleW) / (Number(top.power_w) - rtx3090.idleW)
    const found = pass.within(rtx3090.idleW + scale * (Number(row.power_w) - rtx3090.idleW)) ?? pass.estimates[0]!
    const relative = full.seconds / found.seconds
    speed.push(relative / (Number(row.throughput_tok_s) / Number(top.throughput_tok_s)))
    clock.push(found.smClockMhz / full.smClockMhz / (Number(row.sm_clock_mhz) / Number(top.sm_clock_mhz)))
    const predicted = relative / (rtx3090.idleW + (found.watts - rtx3090.idleW) / scale)
    const actual = Number(row.throughput_tok_s) / Number(row.power_w)
    for (const [otherPredicted, otherActual] of perJoule) {
      pairs++
      if (predicted > otherPredicted === actual > otherActual) right++
    }
    perJoule.push([predicted, actual])
  }
  show(`${workload}, tokens/s`, speed)
  show(`${workload}, clock`, clock)
  console.log(`${workload}, order of tokens per joule: ${((100 * right) / pairs).toFixed(0)} % of pairs`)
}
