import { SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import type { PerfModel } from '@pctodl/perf-model'
import type { CapStep } from '@pctodl/platform'
import { evaluate, RunRecorder } from '@pctodl/report/evaluate'
import { type RunEvent, runPolicy } from '@pctodl/scheduler'
import { faultOf } from './disturbances.js'
import { PacedClock } from './paced-clock.js'
import type { PacedRun } from './paced-run.js'
import { policyNamed, usualExperiment } from './policy-named.js'
import { FrameBuilder, type RunFrame, type RunOutcome } from './run-frame.js'
import { type CapFrom, type Disturbance, type PolicyName, type RunQuestion, WINDOW_S } from './run-question.js'

/** One policy on one simulated board, at whatever pace it is let. */
export class SimulatedRun implements PacedRun {
  readonly #question: RunQuestion
  readonly #model: PerfModel
  readonly #policy: PolicyName
  readonly #clock = new PacedClock()
  readonly #gpu: SimulatedGpu
  readonly #frames = new FrameBuilder()
  readonly #lines: string[] = []
  /** The schedule in force: what somebody does to the cap while it runs comes in here. */
  readonly #caps: CapStep[]

  /** @throws UnknownNameError for a board that cannot be simulated */
  constructor(question: RunQuestion, policy: PolicyName, model: PerfModel) {
    this.#question = question
    this.#model = model
    this.#policy = policy
    this.#caps = stepsOf(question.caps)
    this.#gpu = new SimulatedGpu(model.spec.key, {
      clock: this.#clock,
      seed: question.seed,
      faults: { faults: question.disturbances.map(faultOf) },
    })
  }

  /** Where the run has come to, ms. */
  get timeMs(): number {
    return this.#clock.now()
  }

  /** Let it go on to a time, ms. */
  allow(untilMs: number): void {
    this.#clock.allow(untilMs)
  }

  /** Stand still. */
  hold(): void {
    this.#clock.hold()
  }

  /** The caps from now on, those of the past included. */
  changeCaps(caps: readonly CapFrom[]): void {
    this.#caps.splice(0, Infinity, ...stepsOf(caps))
  }

  /** What comes at a time that has passed strikes at once. */
  disturb(disturbance: Disturbance): void {
    const fault = faultOf(disturbance)
    this.#gpu.strike({ ...fault, atMs: Math.max(0, fault.atMs - this.#clock.now()) })
  }

  /** What has happened since the last call; undefined where nothing has. */
  frame(): RunFrame | undefined {
    return this.#frames.isEmpty ? undefined : this.#frames.take()
  }

  /** All that was seen and decided so far, as the log of `pctodl run`: a line of JSON for each event. */
  record(): string {
    return this.#lines.join('')
  }

  /**
   * Run to the end.
   *
   * @throws InfeasibleCapError where the policy can tell that it cannot keep the cap; the signal's reason
   */
  async run(signal: AbortSignal): Promise<RunOutcome> {
    const { model, caps, seed, durationS } = this.#question
    const gpu = this.#gpu
    const experiment = usualExperiment(this.#policy, model, gpu.spec.key, caps.length > 1)
    const policy = policyNamed(this.#model, experiment)
    // As the command line: it is the true power that is judged.
    const recorder = new RunRecorder(() => gpu.truth().meteredEnergyJ)
    await runPolicy({
      gpu,
      pool: new SimulatedTenants(gpu),
      clock: this.#clock,
      policy,
      caps: this.#caps,
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
      onEvent: (event: RunEvent) => {
        recorder.add(event)
        this.#frames.add(event)
        this.#lines.push(`${JSON.stringify(event)}\n`)
      },
    })
    return { evaluation: evaluate(recorder.recording()), notes: policy.notes ?? [] }
  }
}

function stepsOf(caps: readonly CapFrom[]): CapStep[] {
  return caps.map(({ powerCapW, atS }) => ({ atMs: atS * 1000, powerCapW }))
}
