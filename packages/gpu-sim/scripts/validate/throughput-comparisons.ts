import type { LayerGraph } from '@pctodl/model-zoo'
import type { GpuSpec, Tenant } from '@pctodl/platform'
import type { Precision } from '../../src/execution.js'
import type { HostName, HostProfile } from '../../src/host-profile.js'
import { hostOfBoard, physicsOfBoard, simulateSteadyState } from '../../src/index.js'
import type { Comparison, Point } from './comparison.js'
import { matrixProductSeconds } from './matrix-product.js'
import { alexnet, ssd } from './other-networks.js'
import { groupBy, number, type Row } from './table.js'
import { visionTransformer } from './vision-transformer.js'

/** Networks of timm that are, layer by layer, the zoo's at 224 pixels. */
const timm: Readonly<Record<string, string>> = {
  resnet50: 'resnet50',
  vgg19: 'vgg19',
  densenet201: 'densenet201',
  mobilenetv2_100: 'mobilenet_v2',
  mnasnet_100: 'mnasnet1_0',
  maxvit_tiny_tf_224: 'maxvit_t',
}

function throughput(
  spec: GpuSpec,
  tenants: readonly Tenant[],
  host: HostName | HostProfile,
  precision: Precision,
  networks: readonly LayerGraph[] = [],
): readonly number[] {
  const simulate = simulateSteadyState(spec, { host, precision, networks })
  const memClockMhz = spec.performanceMemClocksMhz[0]!
  return simulate({ tenants: [...tenants], smClockMhz: spec.boostClockMhz, memClockMhz }).tenants.map(
    (tenant) => tenant.throughput,
  )
}

/** Inference of networks with inputs on the device, eager half precision. */
export function timmThroughput(rows: readonly Row[], spec: GpuSpec, table: string): Comparison[] {
  const points: Point[] = []
  const transformers: Point[] = []
  for (const row of rows) {
    const plain = row['model']!.split('.')[0]!
    const transformer = visionTransformer(plain)
    const model = transformer?.name ?? timm[plain]
    if (model === undefined || number(row, 'img_size') !== 224) continue
    if (row['precision'] !== 'amp' || row['compile'] !== 'no') continue
    const tenant = { model, mpsPercent: 100, batchSize: Math.min(1024, number(row, 'batch_size')) }
    const host = hostOfBoard(spec, row['layout'] === 'nhwc' ? 'eager-pytorch' : 'eager-pytorch-nchw')
    const fusesAttention = !row['torch']!.startsWith('1.')
    const networks = transformer ? [transformer] : []
    const all = transformer ? transformers : points
    all.push({
      label: `${row['model']}, batch ${row['batch_size']}, ${row['layout']}, torch ${row['torch']}`,
      measured: number(row, 'samples_per_s'),
      simulated: throughput(spec, [tenant], { ...host, fusesAttention }, 'fp16', networks)[0]!,
      baseline:
        (0.25 * spec.tensorFlopPerClockPerSm * spec.smCount * spec.boostClockMhz * 1e6) / (2e9 * number(row, 'gmacs')),
    })
  }
  const common = {
    table,
    board: spec.key,
    errors: 'relative',
    known: 'nothing; host eager-pytorch, or -nchw, by the layout; that a layout costs one copy, from the RTX 3090',
    baseline: 'a quarter of the tensor peak',
  } as const
  return [
    {
      ...common,
      quantity: 'images/s of the networks that the zoo has',
      heldOut: !['RTX3090', 'RTX5090', 'RTXPRO6000-MaxQ'].includes(spec.key),
      points,
    },
    {
      ...common,
      quantity: 'images/s of vision transformers',
      heldOut: !['RTX3090', 'RTXPRO6000-MaxQ'].includes(spec.key),
      points: transformers,
    },
  ]
}

/** ResNet-50 by batch size in several frameworks, each in a host that launches as fast as its first row says. */
export function resnetBatch(rows: readonly Row[], spec: GpuSpec, table: string): Comparison[] {
  const own = rows.filter((row) => row['network']!.startsWith('resnet50') && !row['precision']!.includes('XLA'))
  return groupBy(own, 'framework', 'precision').flatMap((curve): Comparison[] => {
    const written = curve[0]!['precision']!
    const half = written.startsWith('FP16') || written.startsWith('Mixed')
    const precision = half ? 'fp16' : written.startsWith('TF32') ? 'tf32' : 'fp32'
    const [smallest, ...others] = [...curve].sort((x, y) => number(x, 'batch_size') - number(y, 'batch_size'))
    const at = (launchUs: number, row: Row) => {
      const host = { ...hostOfBoard(spec, 'eager-pytorch'), name: row['framework']!, launchUs, kernelFloorUs: 2 }
      const tenant = { model: 'resnet50', mpsPercent: 100, batchSize: number(row, 'batch_size') }
      return throughput(spec, [tenant], host, precision)[0]!
    }
    let [low, high] = [0, 1000]
    for (let i = 0; i < 30; i++) {
      const launchUs = (low + high) / 2
      if (at(launchUs, smallest!) > number(smallest!, 'images_per_s')) low = launchUs
      else high = launchUs
    }
    return [
      {
        table,
        board: spec.key,
        quantity: `resnet50 images/s by batch, ${precision}, ${curve[0]!['framework']}, ${low.toFixed(1)} us a launch`,
        errors: 'relative',
        heldOut: true,
        known: 'the time of a launch, from the row at batch 1, which is left out',
        baseline: 'the highest of the curve',
        points: others.map((row) => ({
          label: `${row['framework']}, ${written}, batch ${row['batch_size']}`,
          measured: number(row, 'images_per_s'),
          simulated: at(low, row),
          baseline: Math.max(...others.map((each) => number(each, 'images_per_s'))),
        })),
      },
    ]
  })
}

/** One network at an MPS share: latency, and relative to the whole board. */
export function mpsSolo(rows: readonly Row[], spec: GpuSpec, table: string): Comparison[] {
  const absolute: Point[] = []
  const relative: Point[] = []
  for (const curve of groupBy(rows, 'network', 'batch_size')) {
    const model = curve[0]!['network']!
    if (!['resnet50', 'vgg19'].includes(model)) continue
    const batchSize = number(curve[0]!, 'batch_size')
    const at = (mpsPercent: number) =>
      batchSize / throughput(spec, [{ model, mpsPercent, batchSize }], 'tensorrt-like', 'fp32')[0]!
    const whole = curve.find((row) => number(row, 'share_pct') >= 90)
    for (const row of curve) {
      const share = number(row, 'share_pct')
      const label = `${model}, batch ${batchSize}, ${share} %`
      const seconds = at(share)
      absolute.push({ label, measured: number(row, 'latency_ms'), simulated: 1000 * seconds })
      if (whole === undefined || row === whole) continue
      relative.push({
        label,
        measured: number(row, 'latency_ms') / number(whole, 'latency_ms'),
        simulated: seconds / at(number(whole, 'share_pct')),
        baseline: number(whole, 'share_pct') / share,
      })
    }
  }
  const common = { table, board: spec.key, errors: 'relative', heldOut: false } as const
  return [
    {
      ...common,
      quantity: 'latency at a share, fp32',
      known: 'nothing; host tensorrt-like',
      baseline: 'none',
      points: absolute,
    },
    {
      ...common,
      quantity: 'latency over the whole board',
      known: 'nothing',
      baseline: 'one over the share',
      points: relative,
    },
  ]
}

/** Copies of an fp32 image into the board, ms: part of the latency, not of the kernels (latency less kernel time at batch 16 and 32). */
const imageCopyMs: Readonly<Record<string, number>> = { ssd: 0.103 }
const usualImageCopyMs = 0.057

/** Two networks side by side: how much a neighbour slows one down. */
export function mpsPairs(rows: readonly Row[], spec: GpuSpec, table: string): Comparison[] {
  const options = { host: 'tensorrt-like', precision: 'fp32', networks: [alexnet, ssd] } as const
  const simulate = simulateSteadyState(spec, options)
  const memClockMhz = spec.performanceMemClocksMhz[0]!
  const latencies = (tenants: Tenant[]) =>
    simulate({ tenants, smClockMhz: spec.boostClockMhz, memClockMhz }).tenants.map(({ batchMs }, i) => {
      const { model, batchSize } = tenants[i]!
      return batchMs + batchSize * (imageCopyMs[model] ?? usualImageCopyMs)
    })
  const common = { table, board: spec.key, errors: 'points', baseline: 'no slowdown' } as const
  return groupBy(rows, 'network_a', 'network_b').map((group): Comparison => {
    const models = [group[0]!['network_a']!, group[0]!['network_b']!]
    const points = group.flatMap((row): Point[] => {
      const tenants = ['a', 'b'].map((side, i) => ({
        model: models[i]!,
        mpsPercent: number(row, `share_${side}_pct`),
        batchSize: number(row, `batch_${side}`),
      }))
      const together = latencies(tenants)
      return tenants.flatMap((tenant, i) => {
        const side = i === 0 ? 'a' : 'b'
        const alone = latencies([tenant])[0]!
        const solo = number(row, `solo_latency_${side}_ms`)
        if (!(solo > 0)) return []
        const other = tenants[1 - i]!
        const label = `${tenant.model} at ${tenant.mpsPercent} % and batch ${tenant.batchSize} beside ${other.model} at batch ${other.batchSize}`
        const measured = 100 * (number(row, `latency_${side}_ms`) / solo - 1)
        return [{ label, measured, simulated: 100 * (together[i]! / alone - 1), baseline: 0 }]
      })
    })
    const fitted = models.includes('alexnet') && models.includes('ssd')
    return {
      ...common,
      quantity: `slowdown by a neighbour, points: ${models.join(' and ')}`,
      heldOut: !fitted,
      known: fitted ? 'the cost of a neighbour' : 'nothing',
      points,
    }
  })
}

/** Power and clock at a share, and of one to five processes. */
export function mpsPower(rows: readonly Row[], spec: GpuSpec, table: string): Comparison[] {
  const [power, count] = [rows.filter((row) => 'share_pct' in row), rows.filter((row) => 'share_pct_each' in row)]
  const simulate = simulateSteadyState(spec, { host: 'tensorrt-like', precision: 'fp32' })
  const settings = { smClockMhz: spec.boostClockMhz, memClockMhz: spec.performanceMemClocksMhz[0]! }
  const watts: Point[] = []
  const clocks: Point[] = []
  const add = (label: string, row: Row, tenants: Tenant[]) => {
    const state = simulate({ tenants, ...settings })
    watts.push({ label, measured: number(row, 'power_w'), simulated: state.powerW, baseline: spec.powerLimitW.default })
    clocks.push({
      label,
      measured: number(row, 'sm_clock_mhz'),
      simulated: state.smClockMhz,
      baseline: spec.boostClockMhz,
    })
  }
  for (const row of power) {
    const model = row['network']!
    if (!['resnet50', 'vgg19'].includes(model)) continue
    const [batchSize, mpsPercent] = [number(row, 'batch_size'), number(row, 'share_pct')]
    add(`${model}, batch ${batchSize}, ${mpsPercent} %`, row, [{ model, mpsPercent, batchSize }])
  }
  for (const row of count) {
    const processes = number(row, 'processes')
    const [model, mpsPercent] = [row['network']!, number(row, 'share_pct_each')]
    const tenants = Array.from({ length: processes }, () => ({ model, mpsPercent, batchSize: 32 }))
    add(`${processes} of ${model} at ${mpsPercent} %`, row, tenants)
  }
  const common = { board: spec.key, errors: 'relative', heldOut: false, known: 'nothing' } as const
  return [
    { ...common, table, quantity: 'power at shares', baseline: 'the limit', points: watts },
    { ...common, table, quantity: 'clock at shares', baseline: 'the boost clock', points: clocks },
  ]
}

/** Matrix products of language models by number of tokens. */
export function matrixProducts(rows: readonly Row[], spec: GpuSpec, table: string): Comparison[] {
  const peak = spec.tensorFlopPerClockPerSm * spec.smCount * spec.boostClockMhz * 1e6
  const large: Point[] = []
  const small: Point[] = []
  for (const row of rows) {
    const tokens = number(row, 'num_tokens')
    const shards = number(row, 'tensor_parallel')
    const [width, inner] = [number(row, 'n_embd'), number(row, 'n_expanded_embd') / shards]
    // The attention's input product holds query, key and value heads; the other one is square.
    const heads = number(row, 'n_kv_head') / number(row, 'n_head')
    const products = [
      ['attn_pre_proj_ms', width, (width * (1 + 2 * heads)) / shards],
      ['attn_post_proj_ms', width / shards, width],
      ['mlp_down_proj_ms', inner, width],
    ] as const
    for (const [column, k, n] of products) {
      const measured = number(row, column)
      if (!(measured > 0.03)) continue
      const point = {
        label: `${row['model']} ${column.slice(0, -3)}, ${tokens} tokens`,
        measured,
        simulated: 1000 * matrixProductSeconds(spec, tokens, k, n),
        baseline: (1000 * 2 * tokens * k * n) / (0.7 * peak),
      }
      if (tokens >= 512) large.push(point)
      else small.push(point)
    }
  }
  const common = {
    table,
    board: spec.key,
    errors: 'relative',
    baseline: '0.7 of the tensor peak',
  } as const
  return [
    {
      ...common,
      quantity: 'matrix products, 512 rows and more',
      heldOut: false,
      known: 'the share of the peak',
      points: large,
    },
    { ...common, quantity: 'matrix products, fewer rows', heldOut: true, known: 'nothing', points: small },
  ]
}

/** What busy neighbours cost a MIG slice. */
export function migNeighbours(rows: readonly Row[], spec: GpuSpec, table: string): Comparison[] {
  const points: Point[] = []
  const cost = 100 * physicsOfBoard(spec).work.migNeighbourCost
  for (const pair of groupBy(rows, 'round', 'benchmark', 'scenario')) {
    const idle = pair.find((row) => row['neighbours'] === 'other slices idle')
    const busy = pair.find((row) => row !== idle)
    if (!idle || !busy || idle['scenario'] !== 'Offline') continue
    points.push({
      label: `${idle['round']} ${idle['benchmark']}`,
      measured: 100 * (1 - number(busy, 'throughput_per_s') / number(idle, 'throughput_per_s')),
      simulated: cost,
      baseline: 0,
    })
  }
  return [
    {
      table,
      board: spec.key,
      quantity: 'throughput lost to busy neighbours, points',
      errors: 'points',
      heldOut: false,
      known: 'the middle of the range',
      baseline: 'no loss',
      points,
    },
  ]
}
