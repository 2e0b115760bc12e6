import { createServerPolicy, runServerLoad } from '@pctodl/bench-runner/server'
import type { PerfModel } from '@pctodl/perf-model'
import type { ArrivalProcess } from '@pctodl/traffic'
import { faultOf } from '../run/disturbances.js'
import { PacedRun } from '../run/paced-run.js'
import type { RunOutcome } from '../run/run-frame.js'
import { BurstableArrivals } from './burst.js'
import { loadOf } from './services-load.js'
import type { ServicePolicyName, ServicesRunQuestion } from './services-run-question.js'

/**
 * A run in which one policy serves requests on one simulated board at an adjustable pace, as in `bench-runner --set
 * services`.
 */
export class ServedRun extends PacedRun {
  readonly #question: ServicesRunQuestion
  readonly #model: PerfModel
  readonly #policy: ServicePolicyName
  readonly #load: ReturnType<typeof loadOf>
  readonly #bursts: number[]
  readonly #streams: { readonly fromS: number; readonly arrivals: BurstableArrivals }[] = []

  /** @throws UnknownNameError, InvalidInputError for an invalid question */
  constructor(question: ServicesRunQuestion, policy: ServicePolicyName, model: PerfModel) {
    const load = loadOf(question)
    super(load.caps)
    this.#question = question
    this.#model = model
    this.#policy = policy
    this.#load = load
    this.#bursts = [...question.bursts]
  }

  override burst(atS: number): void {
    this.#bursts.push(atS)
    for (const { fromS, arrivals } of this.#streams) if (atS >= fromS) arrivals.burst(1000 * (atS - fromS))
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
      caps: this.caps,
      durationS,
      boardName: this.#model.spec.key,
      seed,
      loadFactor,
    }
    const { recorded: _, ...served } = await runServerLoad(load, policy, {
      signal,
      clock: this.clock,
      faults: disturbances.map(faultOf),
      onBoard: (gpu) => {
        this.gpu = gpu
      },
      onEvent: (event) => this.seen(event),
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
