import { BatchDvfsPolicy, DirectCapPolicy, MorakPolicy, PowerCapOnlyPolicy, StaticBestPolicy } from '@pctodl/baselines'
import { type Configuration, InvalidInputError } from '@pctodl/platform'
import { PctodlPolicy, planPartition, ReferencePolicy } from '@pctodl/scheduler'
import type { NotedPolicy } from '../algorithms.js'
import { predictorOf } from '../predictors.js'
import type { Experiment } from './experiment.js'

/**
 * A fresh policy for one run.
 *
 * @throws UnknownNameError for a board or a network without parameters; InvalidInputError for a memory clock that the board
 *   does not have
 */
export function experimentPolicy(experiment: Experiment): NotedPolicy {
  const { board, model, variant, powerMarginW, sharePercentStep, tenants, memClockMhz } = experiment
  const predictor = predictorOf(board, experiment.parametersFolder)
  const { spec } = predictor
  if (memClockMhz !== undefined && !predictor.memClocksMhz.includes(memClockMhz)) {
    throw new InvalidInputError(
      '--mem-freq',
      memClockMhz,
      `one of ${predictor.memClocksMhz.join(', ')} on ${spec.name}`,
    )
  }
  const memClocks = memClockMhz === undefined ? {} : { memClocksMhz: [memClockMhz] }
  const plan = (powerCapW: number): Configuration =>
    planPartition(predictor, { model, powerCapW, powerMarginW, sharePercentStep, ...memClocks })
  const fixed = tenants && { tenants, memClockMhz: memClockMhz ?? predictor.memClocksMhz[0]! }
  switch (experiment.algorithm) {
    case 'pctodl':
      return new PctodlPolicy({
        predictor,
        model,
        powerMarginW,
        sensorTolerancePercent: experiment.sensorTolerancePercent,
        ...(experiment.backstop ? {} : { backstopPercent: null }),
        shadow: experiment.shadow,
        ...(fixed ? { fixed } : {}),
        partition: { sharePercentStep, ...memClocks },
      })
    case 'reference':
      return new ReferencePolicy({ predictor, model })
    case 'static-best':
      return new StaticBestPolicy({ spec, configurationFor: plan })
    case 'morak':
      return new MorakPolicy({ spec, model, variant })
    case 'batchdvfs':
      return new BatchDvfsPolicy({ spec, model, variant })
    case 'directcap':
      return new DirectCapPolicy({
        spec,
        model,
        variant,
        scheduled: experiment.scheduled,
        plan: fixed ? () => fixed : plan,
      })
    case 'powercap':
      return new PowerCapOnlyPolicy({ spec, model })
  }
}
