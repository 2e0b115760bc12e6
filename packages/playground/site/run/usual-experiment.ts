import type { Experiment } from '@pctodl/run/policy'
import type { PolicyName } from './run-question.js'

const SHARE_STEP = 5

/**
 * Returns the experiment that the command line runs with its default options. Keys are in the order of its records.
 */
export function usualExperiment(algorithm: PolicyName, model: string, board: string, scheduled: boolean): Experiment {
  return {
    algorithm,
    variant: 'fair',
    model,
    scheduled,
    powerMarginW: 0,
    sharePercentStep: SHARE_STEP,
    shadow: false,
    hardwareLimit: true,
    sensorTolerancePercent: 0,
    board,
  }
}
