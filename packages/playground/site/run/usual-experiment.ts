import type { Experiment } from '@pctodl/run/policy'
import type { PolicyName } from './run-question.js'

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
