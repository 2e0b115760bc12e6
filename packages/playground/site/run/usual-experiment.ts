import type { Experiment } from '@pctodl/run/policy'
import type { PolicyName, RunQuestion } from './run-question.js'

/**
 * Returns the experiment that the command line runs with its default options. Keys are in the order of its records.
 */
export function usualExperiment(algorithm: PolicyName, { model, caps }: RunQuestion, board: string): Experiment {
  return {
    algorithm,
    model,
    capsW: caps.map(({ powerCapW }) => powerCapW),
    powerMarginW: 0,
    sharePercentStep: 5,
    shadow: false,
    hardwareLimit: true,
    sensorTolerancePercent: 0,
    board,
  }
}
