import { asUsage } from '@pctodl/command-line'
import { type PerfModel, type Predictor, PublishedBoardPredictor, type PublishedParameters } from '@pctodl/perf-model'
import { isPublishedFolder, loadPublishedParameters, modelOf } from '@pctodl/perf-model/node'
import type { PublishedModel } from '../published/published-model.js'
import type { PartitionCall } from './partition-options.js'

/** The predictor that a call asks for, and what its user should know of it. */
export interface ChosenPredictor {
  readonly predictor: Predictor
  /** The same for the published search. */
  readonly modelAt: (memClockMhz: number) => PublishedModel
  readonly notes: readonly string[]
}

/** @throws UsageError where there are no parameters for what was asked; ParameterFileError where they cannot be read */
export function choosePredictor(call: PartitionCall): ChosenPredictor {
  const { paramsFolder } = call
  if (paramsFolder === undefined || !isPublishedFolder(paramsFolder)) {
    const load = () => modelOf(call.spec.key, paramsFolder)
    // A board without shipped parameters is a wrong word; a folder that cannot be read is a failure.
    return ours(call, paramsFolder === undefined ? asUsage(load) : load())
  }
  const parameters = loadPublishedParameters(paramsFolder)
  return asUsage(() => reference(call, parameters))
}

function ours({ networks, dataset }: PartitionCall, predictor: PerfModel): ChosenPredictor {
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
      dataset === 'imagenet' ? [] : ["our model knows no datasets: --dataset selects among upstream's parameters only"],
  }
}

function reference(
  { spec, networks, dataset, published }: PartitionCall,
  parameters: PublishedParameters,
): ChosenPredictor {
  const platform = spec.key.toLowerCase()
  const models = networks.map((network) => network.model)
  return {
    predictor: new PublishedBoardPredictor(parameters, { platform, dataset, models, memoryBytes: 'unchecked' }),
    modelAt: (memFreq) => parameters.predictor({ model: models[0]!, platform, dataset, memFreq }),
    notes: published === null ? ["upstream's parameters know no memory of tenants: device memory is not checked"] : [],
  }
}
