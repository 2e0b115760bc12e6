import {
  BatchDvfsPolicy,
  DirectCapPolicy,
  equalTenants,
  LimitPolicy,
  MorakPolicy,
  PowerCapOnlyPolicy,
  PublishedPolicy,
} from '@pctodl/baselines'
import type { PerfModel } from '@pctodl/perf-model'
import type { Tenant } from '@pctodl/platform'
import { PctodlPolicy, type PowerCapPolicy, planClocks, planPartition } from '@pctodl/scheduler'
import type { PolicyName } from './run-question.js'

/** What decides a policy, as records of runs keep it, so that `pctodl run --replay` can make the same one. */
export interface Experiment {
  readonly algorithm: PolicyName
  readonly variant: 'fair'
  readonly model: string
  readonly board: string
  readonly scheduled: boolean
  readonly powerMarginW: number
  readonly sharePercentStep: number
  readonly shadow: Readonly<Record<string, number | boolean>>
  readonly backstop: boolean
  readonly sensorTolerancePercent: number
}

const SHARE_STEP = 5

const shadow = {
  interval: 3,
  radius: 3,
  threshold: 0.003,
  history: 300,
  gpRefitInterval: 3,
  gpMaxPoints: 300,
  sharePercentStep: SHARE_STEP,
  adjustMemClock: true,
}

/** As the command line makes it of its usual options; keys are in the order of its records. */
export function usualExperiment(algorithm: PolicyName, model: string, board: string, scheduled: boolean): Experiment {
  return {
    algorithm,
    variant: 'fair',
    model,
    scheduled,
    powerMarginW: 0,
    sharePercentStep: SHARE_STEP,
    shadow,
    backstop: true,
    sensorTolerancePercent: 0,
    board,
  }
}

/** A fresh policy for one run, as `pctodl run` makes it. */
export function policyNamed(
  predictor: PerfModel,
  { algorithm, model, scheduled }: Experiment,
): PowerCapPolicy & { readonly notes?: readonly string[] } {
  const { spec } = predictor
  const sharePercentStep = SHARE_STEP
  const plan = (powerCapW: number) => planPartition(predictor, { model, powerCapW, powerMarginW: 0, sharePercentStep })
  const clocks = (tenants: readonly Tenant[], powerCapW: number) => planClocks(predictor, tenants, powerCapW)
  const baseline = { spec, model, variant: 'fair' as const, planClocks: clocks }
  switch (algorithm) {
    case 'pctodl':
      return new PctodlPolicy({ predictor, model, powerMarginW: 0, shadow, partition: { sharePercentStep } })
    case 'reference':
      return new PublishedPolicy({ predictor, model })
    case 'morak':
      return new MorakPolicy(baseline)
    case 'batchdvfs':
      return new BatchDvfsPolicy(baseline)
    case 'directcap':
      return new DirectCapPolicy({ ...baseline, scheduled, plan })
    case 'powercap':
      return new PowerCapOnlyPolicy(baseline)
    case 'equal-split': {
      const tenants = equalTenants(spec, [model])
      const plan = (powerCapW: number) => ({ tenants, ...clocks(tenants, powerCapW) })
      return new LimitPolicy({ name: 'equal-split', spec, plan, planClocks: clocks })
    }
  }
}
