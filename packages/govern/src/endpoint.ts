import { reasonOf } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import { ZodError } from 'zod'
import type { ServiceConfig } from './config.js'
import type { ServiceGoal } from './law/governed-service.js'
import { type HistogramSample, readHistograms } from './metrics/histograms.js'
import { type EndpointState, endpointState, type ServiceSample } from './metrics/service-sample.js'
import { PENDING, readTriton, readTritonLimits } from './metrics/triton.js'
import type { PageReader } from './page-reader.js'

/** Time after which the limits of a server are read again, ms: a restart before its first request shows in no counter. */
const GOAL_MS = 60_000
/** If a server gives no fresh sample for this time, it counts as away, ms. */
const STALE_MS = 2500

type Sample = ServiceSample & Partial<HistogramSample>

/** Reads the counters and the state of one service's server. */
export class Endpoint {
  /** It changes if the server restarts with other limits or buckets. */
  goal: ServiceGoal
  /** The last sample, and when it was read, ms. */
  sample: ServiceSample | null = null
  sampleMs: number
  state: EndpointState = 'idle'
  requests = 0
  readonly #config: ServiceConfig
  #goalMs: number

  private constructor(config: ServiceConfig, goal: ServiceGoal, nowMs: number) {
    this.#config = config
    this.goal = goal
    this.sampleMs = nowMs
    this.#goalMs = nowMs
  }

  /** @throws PctodlError `ENDPOINT` if the server hides its limits or counters, before the board is governed */
  static async open(config: ServiceConfig, get: PageReader, nowMs: number): Promise<Endpoint> {
    try {
      const sample = await readSample(config, get)
      if (sample === null && 'triton' in config)
        throw new PctodlError('ENDPOINT', `${lackOf(config)}; correct metrics or model in the configuration`)
      return new Endpoint(config, await readGoal(config, get, sample), nowMs)
    } catch (error) {
      const remedy = error instanceof PctodlError ? '' : '; is the server up, and the model loaded?'
      throw new PctodlError('ENDPOINT', `${config.name}: ${reasonOf(error)}${remedy}`)
    }
  }

  /** Whether the operator's clocks must apply, because the server has restarted or has not answered. */
  isAway(timeMs: number): boolean {
    return this.state === 'reset' || timeMs - this.sampleMs > STALE_MS
  }

  /** @returns a message if the server now drains, is unreachable or has restarted; otherwise null */
  async scrape(get: PageReader, now: () => number): Promise<string | null> {
    let failure = lackOf(this.#config)
    const sample = await this.#read(get, now()).catch((error) => {
      failure = reasonOf(error)
      return null
    })
    const timeMs = now()
    // A server that was gone starts: it then serves its metrics first.
    const drains = sample === null && this.state !== 'gone' && (await this.#drains(get))
    const before = this.state
    this.state = endpointState(this.sample, sample, drains)
    if (sample !== null) {
      if (this.state !== 'reset') this.requests += sample.completed - (this.sample ?? sample).completed
      this.sample = sample
      this.sampleMs = timeMs
    }
    if (sample === null || this.state === 'reset') this.#goalMs = Number.NEGATIVE_INFINITY
    if (this.state === before || this.state === 'serving' || this.state === 'idle') return null
    return `${this.goal.name}: ${this.state}${sample === null ? ` (${failure})` : ''}`
  }

  async #read(get: PageReader, timeMs: number): Promise<Sample | null> {
    const sample = await readSample(this.#config, get)
    if (sample === null || timeMs - this.#goalMs < GOAL_MS) return sample
    const isKnown = Number.isFinite(this.#goalMs)
    this.#goalMs = timeMs
    const goal = await readGoal(this.#config, get, sample).catch((error) => {
      // The sample is good; the limits may be read a minute later.
      if (isKnown) return this.goal
      throw error
    })
    if (JSON.stringify(goal) !== JSON.stringify(this.goal)) this.goal = goal
    return sample
  }

  /** Triton refuses requests for statistics as soon as it drains, but serves its metrics to the end. */
  async #drains(get: PageReader): Promise<boolean> {
    if (!('triton' in this.#config)) return false
    const [metrics, stats] = await Promise.allSettled([get(this.#config.metrics), get(this.#config.stats)])
    return metrics.status === 'fulfilled' && stats.status === 'rejected'
  }
}

async function readGoal(config: ServiceConfig, get: PageReader, sample: Sample | null): Promise<ServiceGoal> {
  const limits = 'triton' in config ? await readJson(get, config.limits, readTritonLimits) : null
  const { name, objective } = config
  return { name, objectiveMs: sample?.objectiveMs ?? objective.ms, attainment: objective.attainment, limits }
}

async function readSample(config: ServiceConfig, get: PageReader): Promise<Sample | null> {
  const page = get(config.metrics)
  if (!('triton' in config)) return readHistograms(await page, config.series, config.objective.ms)
  const [metrics] = await Promise.all([page, get(config.stats)])
  return readJson(get, config.stats, (body) => readTriton(config.model, metrics, body))
}

async function readJson<T>(get: PageReader, address: string, read: (body: unknown) => T): Promise<T> {
  const text = await get(address)
  try {
    return read(JSON.parse(text))
  } catch (error) {
    const [issue] = error instanceof ZodError ? error.issues : []
    throw new Error(`${address}: ${issue ? `${issue.path.join('.')}: ${issue.message}` : 'no JSON'}`)
  }
}

/** What is missing if the pages of a server have no sample. */
function lackOf(config: ServiceConfig): string {
  if ('triton' in config)
    return `${config.stats} has no model ${config.model}, or ${config.metrics} no ${PENDING} of it`
  const { judged, labels = {} } = config.series
  return `${config.metrics} has no histogram ${judged.join()} with the labels ${JSON.stringify(labels)}`
}
