import type { Terminal } from '@pctodl/command-line'
import { type Configuration, findGpuSpec, type GpuSpec, smClocksAt, type Tenant } from '@pctodl/platform'
import type { Domain } from '../domain.js'
import { networkOf } from '../network-of.js'
import { isPublishedFolder, modelOf } from '../parameter-folder.js'
import { assertDataset } from '../pctodl-predictor.js'
import type { PerfModel } from '../perf-model.js'
import type { Prediction } from '../predictor.js'
import { loadPublishedParameters } from '../published/load-published-parameters.js'
import { setName } from '../published/published-parameters.js'
import type { PublishedPrediction } from '../published/published-predictor.js'
import { askInstalledGpu } from './installed-gpu.js'
import type { PredictOptions } from './predict-options.js'

/** What `pctodl-predict` predicts with: our model, or upstream's parameters. */
export interface PredictionEngine {
  /** Where the parameters are from. */
  readonly parameters: string
  readonly board: string
  readonly memClockMhz: number
  readonly defaultSmClockMhz: number
  readonly smClocksMhz: readonly number[]
  /** A tenant under the name that the parameters have for its network. */
  tenant(model: string, mpsPercent: number, batchSize: number): Tenant
  predict(tenants: readonly Tenant[], smClockMhz: number): PublishedPrediction & Partial<Prediction>
  /** Null: the engine does not know its limits. */
  domain(tenants: readonly Tenant[], smClockMhz: number): Domain | null
}

/** @throws UnknownNameError listing the parameter sets that exist; ParameterFileError for one that cannot be used */
export async function openEngine(
  options: PredictOptions,
  memFreq: number | undefined,
  { signal }: Terminal,
): Promise<PredictionEngine> {
  const { params, platform } = options
  if (params !== undefined && isPublishedFolder(params)) return publishedEngine(options, params, memFreq)
  const board = platform ?? (await askInstalledGpu('name', 'name the board with --gpu', signal))
  if (options.dataset !== undefined) assertDataset(options.dataset)
  return modelEngine(modelOf(board, params, options.spec), params, memFreq)
}

function modelEngine(model: PerfModel, folder: string | undefined, memFreq: number | undefined): PredictionEngine {
  const { spec } = model
  const memClockMhz = memFreq ?? model.memClocksMhz[0]!
  const configuration = (tenants: readonly Tenant[], smClockMhz: number): Configuration => ({
    tenants,
    smClockMhz,
    memClockMhz,
  })
  return {
    parameters: folder === undefined ? `shipped, ${model.parameters.provenance.source}` : folder,
    board: spec.key,
    memClockMhz,
    defaultSmClockMhz: defaultClock(spec, memClockMhz),
    smClocksMhz: smClocksAt(spec, memClockMhz) ?? [],
    tenant: (name, mpsPercent, batchSize) => ({ model: networkOf(model.networks, name), mpsPercent, batchSize }),
    predict: (tenants, smClockMhz) => model.predict(configuration(tenants, smClockMhz)),
    domain: (tenants, smClockMhz) => model.domain(configuration(tenants, smClockMhz)),
  }
}

function publishedEngine(options: PredictOptions, folder: string, memFreq: number | undefined): PredictionEngine {
  const { platform, dataset = 'imagenet', smSystemStage, oversubscribe } = options
  const reference = loadPublishedParameters(folder)
  const predictors = new Map(
    options.model
      .filter((model) => model !== 'all')
      .map((model) => [
        model,
        reference.predictor({ model, platform, dataset, memFreq, smSystemStage, oversubscribe }),
      ]),
  )
  const [first] = predictors.values()
  const board = platform ?? 'not given'
  const spec = options.spec ?? (platform === undefined ? undefined : findGpuSpec(platform))
  const memClockMhz = memFreq ?? first?.memClockMhz ?? spec?.performanceMemClocksMhz[0] ?? 0
  const sets = [...predictors.values()].map((predictor) => setName(predictor.set!))
  return {
    parameters: `${folder}${sets.length > 0 ? `, ${sets.join(', ')}` : ''}`,
    board,
    memClockMhz,
    // Upstream's default, whatever the board.
    defaultSmClockMhz: 1950,
    smClocksMhz: (spec && smClocksAt(spec, memClockMhz)) ?? [],
    tenant: (model, mpsPercent, batchSize) => ({ model, mpsPercent, batchSize }),
    predict(tenants, smClockMhz) {
      const { model } = tenants[0]!
      let predictor = predictors.get(model)
      if (predictor === undefined) {
        predictor = reference.predictor({ model, platform, dataset, memFreq, smSystemStage, oversubscribe })
        predictors.set(model, predictor)
      }
      const shares = tenants.map((tenant) => tenant.mpsPercent)
      return predictor.predictAll(
        shares,
        tenants.map((tenant) => tenant.batchSize),
        smClockMhz,
      )
    },
    domain: () => null,
  }
}

function defaultClock(spec: GpuSpec, memClockMhz: number): number {
  const top = smClocksAt(spec, memClockMhz)?.at(-1) ?? spec.boostClockMhz
  return Math.min(top, spec.boostClockMhz)
}
