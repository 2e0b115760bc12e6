import {
  BatchDvfsPolicy,
  DirectCapPolicy,
  EqualSplitPolicy,
  MorakPolicy,
  PowerCapOnlyPolicy,
  StaticBestPolicy,
} from '@pctodl/baselines'
import { modelOf } from '@pctodl/perf-model/node'
import { type Configuration, InvalidInputError, type Tenant } from '@pctodl/platform'
import { PctodlPolicy, type PowerCapPolicy, PublishedPolicy, planClocks, planPartition } from '@pctodl/scheduler'
import type { Experiment } from './experiment.js'

/** A policy with what it could not do on its board, in words. */
export type NotedPolicy = PowerCapPolicy & { readonly notes?: readonly string[] }

/**
 * A fresh policy for one run.
 *
 * @throws UnknownNameError for a board or a network without parameters; InvalidInputError for a memory clock that the board
 *   does not have
 */
export function experimentPolicy(experiment: Experiment): NotedPolicy {
  const { board, model, variant, powerMarginW, sharePercentStep, tenants, memClockMhz } = experiment
  const predictor = modelOf(board, experiment.parametersFolder)
  const { spec } = predictor
  if (memClockMhz !== undefined && !predictor.memClocksMhz.includes(memClockMhz)) {
    throw new InvalidInputError(
      '--mem-clock',
      memClockMhz,
      `one of ${predictor.memClocksMhz.join(', ')} on ${spec.name}`,
    )
  }
  const memClocks = memClockMhz === undefined ? {} : { memClocksMhz: [memClockMhz] }
  const plan = (powerCapW: number): Configuration =>
    planPartition(predictor, { model, powerCapW, powerMarginW, sharePercentStep, ...memClocks })
  const fixed = tenants && { tenants, memClockMhz: memClockMhz ?? predictor.memClocksMhz[0]! }
  const clocksOf = (tenants: readonly Tenant[], powerCapW: number) =>
    planClocks(predictor, tenants, powerCapW - powerMarginW, memClocks.memClocksMhz)
  const baseline = { spec, model, variant, planClocks: clocksOf }
  switch (experiment.algorithm) {
    case 'pctodl':
      return new PctodlPolicy({
        predictor,
        model,
        powerMarginW,
        ...(experiment.backstop ? {} : { backstopPercent: null }),
        shadow: experiment.shadow,
        ...(fixed ? { fixed } : {}),
        partition: { sharePercentStep, ...memClocks },
      })
    case 'reference':
      return new PublishedPolicy({ predictor, model })
    case 'static-best':
      return new StaticBestPolicy({ spec, configurationFor: plan })
    case 'morak':
      return new MorakPolicy(baseline)
    case 'batchdvfs':
      return new BatchDvfsPolicy(baseline)
    case 'directcap':
      return new DirectCapPolicy({
        ...baseline,
        scheduled: experiment.scheduled,
        plan: fixed ? () => fixed : plan,
      })
    case 'powercap':
      return new PowerCapOnlyPolicy(baseline)
    case 'equal-split':
      return new EqualSplitPolicy({ spec, model })
  }
}
