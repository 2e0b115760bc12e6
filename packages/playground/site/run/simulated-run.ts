import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import type { PerfModel } from '@pctodl/perf-model'
import { evaluate, RunRecorder } from '@pctodl/report/evaluate'
import { policyOf } from '@pctodl/run/policy'
import { runPolicy } from '@pctodl/scheduler'
import { faultOf } from './disturbances.js'
import { PacedRun, stepsOf } from './paced-run.js'
import type { RunOutcome } from './run-frame.js'
import { type PolicyName, type RunQuestion, WINDOW_S } from './run-question.js'
import { usualExperiment } from './usual-experiment.js'

/** Runs one policy on one simulated board at an adjustable pace. */
export class SimulatedRun extends PacedRun {
  readonly #question: RunQuestion
  readonly #model: PerfModel
  readonly #policy: PolicyName

  /** @throws UnknownNameError for a board that cannot be simulated */
  constructor(question: RunQuestion, policy: PolicyName, model: PerfModel) {
    super(stepsOf(question.caps))
    this.#question = question
    this.#model = model
    this.#policy = policy
    this.gpu = new SimulatedGpu(model.spec.key, {
      clock: this.clock,
      seed: question.seed,
      faults: { faults: question.disturbances.map(faultOf) },
    })
  }

  /**
   * Runs to the end. @throws InfeasibleCapError if the policy finds that it cannot keep the cap; the signal's reason
   */
  async run(signal: AbortSignal): Promise<RunOutcome> {
    const { seed, durationS } = this.#question
    const gpu = this.gpu!
    const experiment = usualExperiment(this.#policy, this.#question, gpu.spec.key)
    const policy = policyOf(this.#model, experiment)
    // The evaluation uses true power, as the command line does.
    const recorder = new RunRecorder(() => gpu.truth().meteredEnergyJ)
    await runPolicy({
      gpu,
      pool: new SimulatedTenants(gpu),
      clock: this.clock,
      policy,
      caps: this.caps,
      iterations: Math.ceil(durationS / WINDOW_S),
      windowMs: WINDOW_S * 1000,
      sensorTolerancePercent: experiment.sensorTolerancePercent,
      signal,
      about: {
        experiment,
        backend: `simulated ${gpu.spec.name} (seed ${seed}), virtual time`,
        inputs: 'real',
        dataset: 'imagenet',
      },
      onEvent: (event) => {
        recorder.add(event)
        this.seen(event)
      },
    })
    return { evaluation: evaluate(recorder.recording()), notes: policy.notes ?? [] }
  }
}
