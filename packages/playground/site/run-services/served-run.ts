import { createServerPolicy, runServerLoad } from '@pctodl/bench-runner/server'
import type { SimulatedGpu } from '@pctodl/gpu-sim'
import type { PerfModel } from '@pctodl/perf-model'
import type { CapStep } from '@pctodl/platform'
import type { RunEvent } from '@pctodl/scheduler'
import type { ArrivalProcess } from '@pctodl/traffic'
import { faultOf } from '../run/disturbances.js'
import { PacedClock } from '../run/paced-clock.js'
import type { PacedRun } from '../run/paced-run.js'
import { FrameBuilder, type RunFrame, type RunOutcome } from '../run/run-frame.js'
import type { CapFrom, Disturbance } from '../run/run-question.js'
import { BurstableArrivals } from './burst.js'
import { loadOf } from './services-load.js'
import type { ServicePolicyName, ServicesRunQuestion } from './services-run-question.js'

/** One policy that serves requests on one simulated board, at whatever pace it is let: the runs of `bench-runner --set services`. */
export class ServedRun implements PacedRun {
  readonly #question: ServicesRunQuestion
  readonly #model: PerfModel
  readonly #policy: ServicePolicyName
  readonly #load: ReturnType<typeof loadOf>
  readonly #clock = new PacedClock()
  readonly #frames = new FrameBuilder()
  readonly #lines: string[] = []
  /** The schedule in force: what somebody does to the cap while it runs comes in here. */
  readonly #caps: CapStep[]
  readonly #bursts: number[]
  readonly #streams: { readonly fromS: number; readonly arrivals: BurstableArrivals }[] = []
  #gpu: SimulatedGpu | undefined

  /** @throws UnknownNameError, InvalidInputError for a question that is none */
  constructor(question: ServicesRunQuestion, policy: ServicePolicyName, model: PerfModel) {
    this.#question = question
    this.#policy = policy
    this.#model = model
    this.#load = loadOf(question)
    this.#caps = [...this.#load.caps]
    this.#bursts = [...question.bursts]
  }

  get timeMs(): number {
    return this.#clock.now()
  }

  allow(untilMs: number): void {
    this.#clock.allow(untilMs)
  }

  hold(): void {
    this.#clock.hold()
  }

  changeCaps(caps: readonly CapFrom[]): void {
    this.#caps.splice(0, Infinity, ...caps.map(({ powerCapW, atS }) => ({ atMs: atS * 1000, powerCapW })))
  }

  disturb(disturbance: Disturbance): void {
    const fault = faultOf(disturbance)
    this.#gpu?.strike({ ...fault, atMs: Math.max(0, fault.atMs - this.#clock.now()) })
  }

  burst(atS: number): void {
    this.#bursts.push(atS)
    for (const { fromS, arrivals } of this.#streams) if (atS >= fromS) arrivals.burst(1000 * (atS - fromS))
  }

  frame(): RunFrame | undefined {
    return this.#frames.isEmpty ? undefined : this.#frames.take()
  }

  record(): string {
    return this.#lines.join('')
  }

  async run(signal: AbortSignal): Promise<RunOutcome> {
    const { loadFactor, seed, disturbances } = this.#question
    const { services, durationS } = this.#load
    const policy = createServerPolicy(this.#policy, this.#load, { model: this.#model, loadFactor })
    const load = {
      services: services.map((service) => ({
        ...service,
        traffic: (ratePerS: number) => this.#withBursts(service.traffic(ratePerS), service.fromS ?? 0),
      })),
      caps: this.#caps,
      durationS,
      boardName: this.#model.spec.key,
      seed,
      loadFactor,
    }
    const { recorded: _, ...served } = await runServerLoad(load, policy, {
      signal,
      clock: this.#clock,
      faults: disturbances.map(faultOf),
      onBoard: (gpu) => {
        this.#gpu = gpu
      },
      onEvent: (event: RunEvent) => {
        this.#frames.add(event)
        this.#lines.push(`${JSON.stringify(event)}\n`)
      },
    })
    return { served, notes: [] }
  }

  #withBursts(process: ArrivalProcess, fromS: number): ArrivalProcess {
    return {
      meanRatePerS: process.meanRatePerS,
      start: (seed) => {
        const arrivals = new BurstableArrivals(process.start(seed), process.meanRatePerS, seed)
        this.#streams.push({ fromS, arrivals })
        for (const atS of this.#bursts) if (atS >= fromS) arrivals.burst(1000 * (atS - fromS))
        return arrivals
      },
    }
  }
}
