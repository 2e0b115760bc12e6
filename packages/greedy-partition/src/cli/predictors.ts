import { asUsage } from '@pctodl/command-line'
import {
  loadPerfModel,
  loadReferenceParameters,
  type Predictor,
  ReferenceBoardPredictor,
  type ReferenceParameters,
} from '@pctodl/perf-model'
import type { PublishedModel } from '../published/published-model.js'
import type { PartitionCall } from './options.js'

/** The predictor that a call asks for, and what its user should know of it. */
export interface ChosenPredictor {
  readonly predictor: Predictor
  /** The same for the published search. */
  readonly modelAt: (memClockMhz: number) => PublishedModel
  readonly notes: readonly string[]
}

/** @throws UsageError where there are no parameters for what was asked; ParameterFileError where they cannot be read */
export function choosePredictor(call: PartitionCall): ChosenPredictor {
  if (call.paramsFolder === undefined) return asUsage(() => shipped(call))
  const parameters = loadReferenceParameters(call.paramsFolder)
  return asUsage(() => reference(call, parameters))
}

function shipped({ spec, networks, dataset }: PartitionCall): ChosenPredictor {
  const predictor = loadPerfModel(spec.key)
  const model = networks[0]!.model
  return {
    predictor,
    modelAt: (memClockMhz) => ({
      predictAll: (shares, batches, smClockMhz) =>
        predictor.predict({
          tenants: shares.map((mpsPercent, i) => ({ model, mpsPercent, batchSize: batches[i]! })),
          smClockMhz,
          memClockMhz,
        }),
    }),
    notes:
      dataset === 'imagenet' ? [] : ['the shipped model knows no datasets: --dataset changes nothing without --params'],
  }
}

function reference(
  { spec, networks, dataset, published }: PartitionCall,
  parameters: ReferenceParameters,
): ChosenPredictor {
  const platform = spec.key.toLowerCase()
  const models = networks.map((network) => network.model)
  return {
    predictor: new ReferenceBoardPredictor(parameters, { platform, dataset, models, memoryBytes: 'unchecked' }),
    modelAt: (memFreq) => parameters.predictor({ model: models[0]!, platform, dataset, memFreq, oversubscribe: true }),
    notes: published === null ? ["upstream's parameters know no memory of tenants: device memory is not checked"] : [],
  }
}
