import {
  type DecoderOperator,
  decoderFromConfig,
  decoderOperators,
  decoderParameters,
  type Layer,
} from '@pctodl/model-zoo'
import { findGpuSpec, type GpuSpec } from '@pctodl/platform'
import { settledPower } from '../../src/board-power.js'
import { physicsOfBoard, simulateSteadyState } from '../../src/index.js'
import { idleState } from '../../src/steady-state.js'
import type { Comparison, Point } from './comparison.js'
import { groupBy, number, type Row } from './table.js'

const llama8b = decoderFromConfig({
  model_type: 'llama',
  hidden_size: 4096,
  intermediate_size: 14336,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  vocab_size: 128256,
})

/** Weights of a single product are copied until they exceed L2, as `evidence/operators.py` does. */
const CACHE_BYTES = 150e6

interface Measured {
  readonly label: string
  readonly layers: readonly Layer[]
  readonly batch: number
  readonly ms: number
  readonly powerW: number
  /** Whether neither a limit nor a short reading spoils the power. */
  readonly isFree: boolean
}

/** Passes of Llama 3.1 8B, and single operators, in bfloat16 as one CUDA graph (`evidence/operators.py`). */
export function decoderComparisons(rows: readonly Row[], spec: GpuSpec): Comparison[] {
  const measured = rows
    .filter((row) => row['dtype'] === 'bfloat16')
    .map((row): Measured => {
      const kind = row['kind']!
      const isPass = kind.startsWith('llm_')
      const [batch, length] = [number(row, 'batch') || number(row, 'm'), number(row, 'length')]
      const phase = kind.slice(4) as 'prefill' | 'decode'
      const operators = isPass ? decoderOperators(llama8b, { phase, batch, length }) : [operatorOf(row)]
      return {
        label: `${shapeOf(row)}, unit ${row['unit']}`,
        layers: operators.flatMap((operator) => repeated(layerOf(operator, batch), operator.count)),
        batch,
        ms: number(row, 'latency_ms') * (isPass ? 1 : operators[0]!.count),
        powerW: number(row, 'energy_w') || number(row, 'instant_w'),
        isFree: number(row, 'lowest_sm_clock_mhz') >= spec.boostClockMhz,
      }
    })
  return compared(measured, spec, 'operators', 'passes and operators')
}

/** Rows of one kind of operator that are simulated for each serving engine. */
const ENOUGH = 400

/** Operators that NVIDIA's aiconfigurator measured, in bfloat16, by serving engine: an even part of the rows of .2 ms and more. */
export function engineOperators(rows: readonly Row[], named: GpuSpec, table: string): Comparison[] {
  // The tables call the board of 80 GB and 400 W A100.
  const spec = named.key === 'A100' ? findGpuSpec('A100-80GB') : named
  const usable = rows.filter(
    (row) =>
      row['dtype'] === 'bfloat16' &&
      (row['kv_dtype'] ?? 'bfloat16') === 'bfloat16' &&
      !(number(row, 'window_size') > 0) &&
      row['host_bound'] !== '1' &&
      number(row, 'latency_ms') >= 0.2,
  )
  return groupBy(usable, 'backend').flatMap((own) => {
    const step = Math.ceil(own.length / ENOUGH)
    const measured = own
      .filter((_, i) => i % step === 0)
      .map((row): Measured => {
        const kind = 'm' in row ? 'gemm' : 'past_kv_len' in row ? 'decode' : 'prefill'
        const { batch_size: batch, num_heads: heads, num_kv_heads: kv_heads } = row
        const length = row['past_kv_len'] ?? row['seq_len']
        const named = { ...row, kind, batch, heads, kv_heads, length } as Row
        return {
          label: shapeOf(named),
          layers: [layerOf(operatorOf(named), number(named, kind === 'gemm' ? 'm' : 'batch'))],
          batch: number(named, kind === 'gemm' ? 'm' : 'batch'),
          ms: number(row, 'latency_ms'),
          powerW: number(row, 'power_w'),
          isFree:
            number(row, 'power_w') > 0 &&
            number(row, 'power_w') < 0.9 * number(row, 'power_limit_w') &&
            number(row, 'power_samples_divisor') > 2,
        }
      })
    return compared(measured, spec, table, own[0]!['backend']!)
  })
}

const llama70b = decoderFromConfig({
  model_type: 'llama',
  hidden_size: 8192,
  intermediate_size: 28672,
  num_hidden_layers: 80,
  num_attention_heads: 64,
  num_key_value_heads: 8,
  vocab_size: 32000,
})

/**
 * Power of serving Llama 2 70B, mostly decode: the rate at which its weights stream is the measured one. The baseline leaves out that the
 * weights move to the registers. Communication between the boards is not simulated.
 */
export function servingPower(rows: readonly Row[], spec: GpuSpec, table: string): Comparison[] {
  const physics = physicsOfBoard(spec)
  const weights = decoderParameters(llama70b) - llama70b.vocabulary * llama70b.hidden
  const points = rows
    .filter((row) => row['model'] === 'llama2-70b' && number(row, 'prompt_tokens') <= 2048)
    .map((row): Point => {
      const perS = (1000 * weights) / number(row, 'tensor_parallel') / number(row, 'per_token_ms')
      const flopPerS = 2 * perS * number(row, 'batch_size') * (physics.work.productEnergy?.tensor ?? 1)
      const at = (vectorOpsPerS: number) => {
        const rates = { busySms: spec.smCount, flopPerS, vectorOpsPerS, l2BytesPerS: 2 * perS, dramBytesPerS: 2 * perS }
        const state = { ...idleState, ...rates }
        return settledPower(spec, physics, state, spec.boostClockMhz, spec.performanceMemClocksMhz[0]!).totalW
      }
      const label = `${row['tensor_parallel']} boards, ${row['batch_size']} x ${row['prompt_tokens']}`
      const measured = number(row, 'power_mean_rel') * spec.powerLimitW.default
      return { label, measured, simulated: at(perS), baseline: at(0) }
    })
  const known = 'the time of a token; that power is relative to the default limit'
  const common = { table, board: spec.key, errors: 'relative', heldOut: true, known } as const
  return [{ ...common, quantity: 'power of serving Llama 2 70B', baseline: 'weights take no vector energy', points }]
}

/** Time; and where no limit binds, power and energy. */
function compared(measured: readonly Measured[], spec: GpuSpec, table: string, of: string): Comparison[] {
  const memClockMhz = spec.performanceMemClocksMhz[0]!
  const points = measured.map(({ label, layers, batch, ms, powerW, isFree }) => {
    const amounts = { parameters: 0, weightElements: 0, peakActivationElements: 1, unknownOperators: [] }
    const network = { name: 'pass', layers, prefetched: true, ...amounts }
    // Without power, the operator ran six times, which is too short for the limit to act.
    const powerLimitW = powerW > 0 ? spec.powerLimitW.default : 1e9
    const options = { host: 'device-only', launch: 'graph', networks: [network], powerLimitW } as const
    const state = simulateSteadyState(
      spec,
      options,
    )({
      tenants: [{ model: network.name, mpsPercent: 100, batchSize: batch }],
      smClockMhz: spec.boostClockMhz,
      memClockMhz,
    })
    const simulatedMs = state.tenants[0]!.batchMs
    const point = (measured: number, simulated: number): Point => ({ label, measured, simulated })
    return {
      isFree,
      time: point(ms, simulatedMs),
      power: point(powerW, state.powerW),
      energy: point(powerW * ms, state.powerW * simulatedMs),
    }
  })
  const free = points.filter((each) => each.isFree)
  const common = { table, board: spec.key, errors: 'relative', heldOut: true, baseline: 'none' } as const
  return [
    { ...common, quantity: `time of ${of}`, points: points.map(({ time }) => time) },
    { ...common, quantity: `power of ${of} below the limit`, points: free.map(({ power }) => power) },
    { ...common, quantity: `energy of ${of} below the limit`, points: free.map(({ energy }) => energy) },
  ]
}

const repeated = (layer: Layer, count: number) => Array.from({ length: count }, () => layer)

function shapeOf(row: Row): string {
  const sizes = ['m', 'n', 'k', 'batch', 'length', 'heads', 'kv_heads', 'head_dim'].map((column) => row[column])
  return `${row['kind']} ${sizes.filter(Boolean).join(' x ')}`
}

function operatorOf(row: Row): DecoderOperator {
  const n = (column: string) => number(row, column)
  if (row['kind'] === 'gemm') {
    const count = Math.max(1, Math.min(64, Math.ceil(CACHE_BYTES / (2 * n('n') * n('k')))))
    return { name: 'product', count, kind: 'gemm', m: n('m'), n: n('n'), k: n('k') }
  }
  return {
    name: 'attention',
    count: 1,
    kind: row['kind'] as 'prefill' | 'decode',
    batch: n('batch'),
    length: n('length'),
    heads: n('heads'),
    kvHeads: n('kv_heads'),
    headDim: n('head_dim'),
    window: 0,
  }
}

/** An operator as a layer; amounts are per sequence. */
function layerOf(operator: DecoderOperator, batch: number): Layer {
  const layer = (
    operatorClass: Layer['operatorClass'],
    flops: number,
    inputElements: number,
    outputElements: number,
    weightElements = 0,
  ): Layer => {
    const name = operator.name
    const amounts = { flops, inputElements, outputElements, weightElements }
    return { name, operator: name, operatorClass, ...amounts, inputs: [], outputShape: [outputElements] }
  }
  switch (operator.kind) {
    case 'gemm': {
      const { n, k } = operator
      const rows = operator.m / batch
      return layer('linear', 2 * rows * n * k, rows * k, rows * n, n * k)
    }
    case 'elementwise':
      return layer('elementwise', 0, operator.elements / 2 / batch, operator.elements / 2 / batch)
    case 'moe':
      throw new Error('a model without experts')
    default: {
      const { heads, kvHeads, headDim, length } = operator
      const queries = operator.kind === 'prefill' ? length : 1
      // A prompt is causal: each position attends to half of them, on average.
      const pairs = operator.kind === 'prefill' ? length ** 2 / 2 : length + 1
      const keys = operator.kind === 'prefill' ? length : length + 1
      const cached = 2 * kvHeads * headDim * keys
      return layer(
        'attention',
        4 * heads * headDim * pairs,
        cached + heads * headDim * queries,
        heads * headDim * queries,
      )
    }
  }
}
