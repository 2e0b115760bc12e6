import { asUsage, jsonText, type Terminal } from '@pctodl/command-line'
import { modelOf } from '@pctodl/perf-model/node'
import { findGpuSpec, networkName, smClocksAt } from '@pctodl/platform'
import { loadPublishedParameters } from '../predictor/load-published-parameters.js'
import type { PublishedModel } from '../search/published-model.js'
import { type PublishedSearchResult, publishedSearch } from '../search/published-search.js'

export interface PartitionOptions {
  readonly model: string
  readonly gpu: string
  readonly powerCap: number
  readonly mpsStep: number
  readonly memClock?: number
  readonly params?: string
  readonly dataset: string
  readonly variant: 'standard' | 'vectorized'
  readonly explain?: boolean
  readonly json?: boolean
}

/** The memory clocks of a board for which there is a model, MHz, and the model at each. */
interface Board {
  readonly memClocksMhz: readonly number[]
  readonly modelAt: (memClockMhz: number) => PublishedModel
}

/** Runs `pctodl published partition`. Returns exit code 1 if the search finds no tenant. */
export function partition(options: PartitionOptions, { stdout, stderr }: Terminal): number {
  const { spec, model } = asUsage(() => ({ spec: findGpuSpec(options.gpu), model: networkName(options.model) }))
  const { powerCap: powerCapW, memClock } = options
  const board = options.params === undefined ? shipped(spec.key, model) : imported(options.params, options, model)
  const startMs = performance.now()
  const result = asUsage(() =>
    publishedSearch(board.modelAt, {
      model,
      powerCapW,
      sharePercentStep: options.mpsStep,
      smClocksMhz: smClocksAt(spec, board.memClocksMhz[0]!)!,
      memClocksMhz: memClock === undefined ? board.memClocksMhz : [memClock],
      variant: options.variant,
    }),
  )
  const elapsedMs = performance.now() - startMs
  if (options.json) stdout.write(jsonText({ board: spec.key, ...result, elapsedMs }))
  else {
    const heading = `${model} on ${spec.name}, power cap ${powerCapW} W, published search (${options.variant})`
    stdout.write(
      `${[heading, ...(options.explain ? stepLines(result) : []), ...resultLines(result, powerCapW)].join('\n')}\n`,
    )
  }
  if (result.tenants.length > 0) return 0
  stderr.write(`pctodl published: the published search finds no tenant that keeps ${powerCapW} W\n`)
  return 1
}

function shipped(board: string, model: string): Board {
  const predictor = asUsage(() => modelOf(board, undefined))
  return {
    memClocksMhz: predictor.memClocksMhz,
    modelAt: (memClockMhz) => ({
      predictAll: (shares, batches, smClockMhz) =>
        predictor.predict({
          tenants: shares.map((mpsPercent, i) => ({ model, mpsPercent, batchSize: batches[i]! })),
          smClockMhz,
          memClockMhz,
        }),
    }),
  }
}

function imported(folder: string, { gpu: platform, dataset }: PartitionOptions, model: string): Board {
  const parameters = loadPublishedParameters(folder)
  return {
    memClocksMhz: parameters.memClocksMhz({ model, platform, dataset }),
    modelAt: (memFreq) => asUsage(() => parameters.predictor({ model, platform, dataset, memFreq })),
  }
}

function stepLines({ steps }: PublishedSearchResult): string[] {
  let free = 100
  return steps.map(({ admitted, smClockMhz, memClockMhz, throughput, powerW }, i) => {
    free -= admitted.mpsPercent
    const clocks = `SM ${smClockMhz.toFixed(1)} MHz, memory ${memClockMhz} MHz`
    const admits = `${admitted.mpsPercent} % x ${admitted.batchSize}`
    return `step ${i + 1}      ${admits}, ${free} % free, ${clocks}, ${throughput.toFixed(1)} samples/s, ${powerW.toFixed(1)} W`
  })
}

function resultLines(result: PublishedSearchResult, powerCapW: number): string[] {
  const { tenants, prediction, smClockMhz, memClockMhz, configsSearched } = result
  const searched = `search      ${configsSearched} configurations`
  if (prediction === null) return [searched]
  const excessW = prediction.powerW - powerCapW
  return [
    `tenants     ${tenants.map(({ mpsPercent, batchSize }) => `${mpsPercent} % x ${batchSize}`).join(', ')}`,
    `clocks      SM ${smClockMhz.toFixed(3)} MHz, memory ${memClockMhz} MHz`,
    `throughput  ${prediction.throughput.toFixed(1)} samples/s`,
    `power       ${prediction.powerW.toFixed(1)} W, ${Math.abs(excessW).toFixed(1)} W ${excessW > 0 ? 'ABOVE' : 'below'} the cap`,
    searched,
  ]
}
