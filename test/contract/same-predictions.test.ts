import * as graphs from '@pctodl/model-zoo'
import { layerGraph, networkWork } from '@pctodl/model-zoo'
import { addNetwork, fitPerfModel, loadPerfModel, PerfModel, refit } from '@pctodl/perf-model'
import { costOperator, findOperatorBoard, LanguageModelPass, memoryBytes } from '@pctodl/perf-model/llm'
import { BatchQueue, batchSizesUpTo, ServingModel } from '@pctodl/perf-model/serving'
import type { Configuration, Service, Tenant } from '@pctodl/platform'
import { describe, it } from 'vitest'
import { crowdOf, crowds, randomConfigurations, rowsOf } from './random-configurations.js'
import { digest, expectStored, said } from './stored.js'

const tenant = (model: string, mpsPercent: number, batchSize: number): Tenant => ({ model, mpsPercent, batchSize })

/** All that a model says of a configuration. */
function lineOf(model: PerfModel, configuration: Configuration): string {
  const predicted = model.predict(configuration)
  const { throughput, throughputSd, powerW, powerSdW, smUtilPercent, memUtilPercent, distance, tenants } = predicted
  const { tenants: mix, memClockMhz, smClockMhz } = configuration
  const domain = model.domain(configuration)
  return [
    `${mix.map(({ model: name, mpsPercent, batchSize }) => `${name} ${mpsPercent}:${batchSize}`).join(', ')} at ${smClockMhz}/${memClockMhz}`,
    said([throughput, throughputSd, powerW, powerSdW, smUtilPercent, memUtilPercent, distance]),
    digest(tenants.map(({ throughput: own, latencyMs, p99LatencyMs }) => [own, latencyMs, p99LatencyMs])),
    said([0.95, 0.6].map((part) => model.solveSmClock(mix, memClockMhz, part * powerW) ?? null)),
    said([model.solveSmClock(mix, memClockMhz, powerW, 0.02) ?? null, model.upperPowerW(configuration, 0.02)]),
    digest(model.quantiles(configuration, [1e-6, 0.01, 0.3, 0.5, 0.99])),
    said([domain.outside.map(({ field, value }) => [field, value]), mix.map((each) => model.memoryBytes(each))[0]]),
  ].join(' ')
}

describe('the same predictions as before', () => {
  it.each(['A100', '3080Ti'])('are made for the %s', async (board) => {
    const model = loadPerfModel(board)
    const drawn = crowds.flatMap((kind) => crowdOf(model, kind, 10, 19))
    const [memClockMhz] = model.memClocksMhz as [number]
    const odd: Configuration[] = [
      { tenants: [tenant('vgg19', 12.5, 4), tenant('vgg19', 60, 96)], smClockMhz: 1001, memClockMhz },
      {
        tenants: [...Array<Tenant>(20).fill(tenant('maxvit_t', 3, 256)), tenant('mnasnet1_0', 1.5, 1)],
        smClockMhz: 900,
        memClockMhz,
      },
      { tenants: Array<Tenant>(48).fill(tenant('resnet50', 2, 1)), smClockMhz: 1395, memClockMhz },
      { tenants: [tenant('vgg19', 1, 256)], smClockMhz: 210, memClockMhz },
    ]
    await expectStored(
      `predictions-${board}`,
      [...drawn, ...odd].map((each) => lineOf(model, each)),
    )
  })

  it('are made after rows of one board were learnt', async () => {
    const shipped = loadPerfModel('3080Ti')
    const rows = rowsOf(shipped, randomConfigurations(shipped, 12, 3), { faster: 0.94, hungrier: 1.05 })
    const asked = [...randomConfigurations(shipped, 4, 5), ...crowdOf(shipped, 'crowded', 2, 6)]
    const once = refit(shipped, rows)
    const others = rowsOf(shipped, randomConfigurations(shipped, 5, 8), { faster: 1.1, hungrier: 0.97, seed: 2 })
    const one = refit(shipped, rows.slice(0, 1))
    const models = { one, once, again: refit(once, others), forgot: refit(once, others, { forget: true }) }
    const lines = Object.entries(models).flatMap(([name, model]) =>
      asked.map((each) => `${name}: ${lineOf(model, each)}`),
    )
    await expectStored('predictions-refitted', [...lines, digest(models.again.parameters.errors)])
  })

  it('are made from measured rows', async () => {
    const truth = loadPerfModel('A100')
    const networks = ['resnet50', 'vgg19']
    const alone = crowdOf(truth, 'alone', 10, 4).map((each) => ({
      ...each,
      tenants: [{ ...each.tenants[0]!, model: 'vgg19' }],
    }))
    const rows = rowsOf(truth, [...randomConfigurations(truth, 40, 11, networks), ...alone])
    const failed = { ...rows[3]!, failed: true }
    const { parameters, report } = fitPerfModel([failed, ...rows], truth.spec, {
      ...{ source: 'rows', seed: 3, folds: 2, starts: 2, unlockedClock: 'measured' },
    })
    const model = PerfModel.load(parameters)
    const lines = randomConfigurations(truth, 8, 13, networks).map((each) => {
      const { throughput, throughputSd, powerW, powerSdW, smUtilPercent, memUtilPercent, distance } =
        model.predict(each)
      return said([throughput, throughputSd, powerW, powerSdW, smUtilPercent, memUtilPercent, distance], 4)
    })
    const { predictions, ...figures } = report
    await expectStored('predictions-fitted', [
      ...lines,
      said(figures, 3),
      digest([predictions.length, parameters.provenance.rows, parameters.provenance.failedRows]),
      said(parameters.profile, 3),
      said(
        parameters.networks.map(({ memoryBaseMib, memoryPerSampleMib }) => [memoryBaseMib, memoryPerSampleMib]),
        4,
      ),
    ])
  })

  it('are made of a network from its graph', async () => {
    const all = loadPerfModel('A100')
    const left = <T extends { readonly name: string }>(list: readonly T[]) =>
      list.filter(({ name }) => name !== 'densenet201')
    const { networks, profile } = all.parameters
    const without = PerfModel.load({
      ...all.parameters,
      networks: left(networks),
      profile: { ...profile, networks: left(profile.networks) },
    })
    type Name = Parameters<typeof layerGraph>[0]
    const known = Object.fromEntries(without.networks.map((name) => [name, networkWork(layerGraph(name as Name))]))
    const work = networkWork(layerGraph('densenet201'))
    const rows = rowsOf(all, randomConfigurations(all, 8, 9, ['densenet201', 'vgg19'])).map((row) => ({
      ...row,
      tenants: row.tenants.map((each) => (each.model === 'densenet201' ? { ...each, model: 'dense' } : each)),
    }))
    const hidden = { ...work, unknownShare: 0.3 }
    const models = {
      blind: addNetwork(without, 'dense', work, { known }),
      hidden: addNetwork(without, 'dense', hidden, { known }),
      seen: addNetwork(without, 'dense', work, { known, rows }),
    }
    const asked = randomConfigurations(models.blind, 5, 15, ['dense', 'resnet50'])
    await expectStored(
      'predictions-added',
      Object.entries(models).flatMap(([name, model]) =>
        asked.map((each) => {
          const { throughput, throughputSd, powerW, powerSdW, distance } = model.predict(each)
          return `${name} ${said([throughput, throughputSd, powerW, powerSdW, distance, model.memoryBytes(each.tenants[0]!)], 5)}`
        }),
      ),
    )
  })

  it('are made of what requests meet', async () => {
    const model = loadPerfModel('A100')
    const usual = { objective: { p99Ms: 60 }, weight: 1, maxBatchSize: 32, maxQueueDelayMs: 0 }
    const services: Service[] = [
      { ...usual, name: 'search', model: 'resnet50' },
      { ...usual, name: 'ads', model: 'vgg19', maxQueueDelayMs: 6, maxBatchSize: 12, objective: { p99Ms: 12 } },
    ]
    const tenants = [
      { ...tenant('resnet50', 20, 32), service: 'search' },
      { ...tenant('resnet50', 30, 32), service: 'search' },
      { ...tenant('vgg19', 50, 16), service: 'ads' },
    ]
    const serving = new ServingModel(model, { tenants, smClockMhz: 1200, memClockMhz: 1215 }, services)
    const lines = (
      [
        [20, 10, 1, 1],
        [500, 150, 1, 1],
        [500, 150, 4, 1.5],
        [1300, 420, 1, 1],
        [1300, 420, 2, 8],
        [2300, 700, 1, 30],
        [9000, 50, 1, 1],
      ] as const
    ).map(([a, b, ...burstiness]) => said(serving.predict([a, b], burstiness)))
    for (const most of [1, 6, 64]) {
      const sizes = batchSizesUpTo(most)
      const batchMs = Float64Array.from(sizes, (size) => 4 + 0.7 * size)
      for (const [load, servers, delayMs, burstiness] of [
        [0.05, 1, 0, 1],
        [0.4, 3, 2, 1],
        [0.8, 1, 0, 6],
        [0.97, 2, 5, 1.2],
        [0.996, 1, 1, 1],
      ] as const) {
        const queue = new BatchQueue(sizes)
        const ratePerMs = (load * servers * most) / batchMs.at(-1)!
        queue.solve({ ratePerMs, batchMs, servers, delayMs, burstiness })
        const { shares, batchesPerMs, utilisation, overloaded } = queue
        const times = [0.01, 0.5, 0.9, 0.99, 0.9999].map((part) => queue.quantileMs(part))
        const within = [1, 6, 20, 60, 200].map((ms) => queue.within(ms))
        lines.push(said([most, load, overloaded, batchesPerMs, utilisation, times, within]) + digest(shares))
      }
    }
    await expectStored('predictions-serving', lines)
  })

  it('are made of operators and language models', async () => {
    const lines: string[] = []
    const gemm = (dtype: string, m: number, n: number, k: number) => ({ kind: 'gemm', dtype, m, n, k })
    const attention = (kind: string, batch: number, length: number, window = 0) => ({
      ...{ kind, dtype: 'bfloat16', kvDtype: 'bfloat16', batch, length, heads: 32, kvHeads: 8, headDim: 128, window },
    })
    const moe = (dtype: string, tokens: number, skewed: boolean) => ({
      ...{ kind: 'moe', dtype, tokens, hidden: 2880, inter: 2880, topk: 4, experts: 32, skewed },
    })
    const formats = ['bfloat16', 'fp8', 'fp8_block', 'nvfp4', 'int8_sq', 'int8_wo', 'int4_wo', 'w4a16_mxfp4']
    const operators = [
      ...formats.flatMap((dtype) => [gemm(dtype, 16, 4096, 4096), gemm(dtype, 5000, 14336, 4096)]),
      gemm('bfloat16', 1, 128, 64),
      ...['prefill', 'decode'].flatMap((kind) => [
        attention(kind, 1, 300),
        attention(kind, 24, 9000),
        { ...attention(kind, 8, 5000, 1024), kvDtype: 'fp8', kvHeads: 32 },
      ]),
      ...['bfloat16', 'fp8', 'w4a16_mxfp4', 'nvfp4'].flatMap((dtype) => [moe(dtype, 8, true), moe(dtype, 4000, false)]),
    ]
    for (const name of ['A100-80GB', 'A100', 'L40S', 'H100', 'H200', 'B200', 'RTXPRO6000', 'RTX3090', 'L4']) {
      const board = findOperatorBoard(name)
      const costs = operators.map((operator) => {
        try {
          const { work, atDefault, wattsFrom, at } = costOperator(operator as Parameters<typeof costOperator>[0], board)
          return [atDefault.seconds, atDefault.watts, wattsFrom, work, at(0.5), at(0.8)]
        } catch (error) {
          return (error as Error).message.slice(0, 30)
        }
      })
      lines.push(`${name} ${said(board, 5).slice(0, 180)}`, costs.map((each) => digest(each)).join(' '))
    }
    const dense = {
      ...{ model_type: 'llama', hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32 },
      ...{ num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 128256 },
    }
    const experts = {
      ...{
        model_type: 'mixtral',
        hidden_size: 4096,
        intermediate_size: 14336,
        num_hidden_layers: 32,
        vocab_size: 32000,
      },
      ...{ num_attention_heads: 32, num_key_value_heads: 8, num_local_experts: 8, num_experts_per_tok: 2 },
    }
    for (const [config, gpu, dtype] of [
      [dense, 'H100', 'bfloat16'],
      [dense, 'L40S', 'fp8'],
      [experts, 'H200', 'fp8'],
      [experts, 'A100-80GB', 'bfloat16'],
      [experts, 'H100', 'w4a16_mxfp4'],
    ] as const) {
      const decoder = graphs.decoderFromConfig(config)
      const board = findOperatorBoard(gpu)
      for (const pass of [
        { phase: 'prefill', batch: 1, length: 2000 },
        { phase: 'decode', batch: 48, length: 4096 },
      ] as const) {
        const of = new LanguageModelPass(graphs, decoder, pass, board, dtype)
        const cap = 0.7 * board.powerLimitW
        const found = [of.within(cap), of.within(1), of.minEnergy(cap, 9), of.minEnergy(cap, 0.02), of.wattsFrom]
        lines.push(`${config.model_type} ${gpu} ${said(found, 6)} ${digest(of.estimates)}`)
      }
      lines.push(said(memoryBytes(graphs, decoder, dtype, 3, 1000)))
    }
    await expectStored('predictions-operators', lines)
  })
})
