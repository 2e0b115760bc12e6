import { PctodlError } from '@pctodl/platform'
import { ZodError } from 'zod'
import type { ServiceConfig, TritonService } from './config.js'
import type { HttpReader } from './http-reader.js'
import { readMapped, readVllm } from './metrics/histograms.js'
import { type BatchLimits, type EndpointState, endpointState, type ServiceSample } from './metrics/service-sample.js'
import { PENDING, readTriton, readTritonLimits } from './metrics/triton.js'

/** Time limit of an answer, ms. If it is exceeded, the server counts as not answering. */
const TIMEOUT_MS = 1000
/** Time limit of the first answer, ms. It is longer, because without that answer the program cannot start. */
const FIRST_TIMEOUT_MS = 10_000
/** Interval between readiness probes, ms. */
const PROBE_MS = 1000
/** Time without a fresh sample after which a server counts as away, ms. */
const STALE_MS = 2500
/** Number of samples to wait for after a server has come back. */
const RECOVERY_SAMPLES = 2
const ALLOW =
  'allow it from this host; for Triton, leave statistics and model-config out of --http-restricted-api (PyTriton: TritonSecurityConfig.restricted_endpoints)'

/** Reads the counters of one service from its server, and follows the server's state. */
export class Endpoint {
  readonly config: ServiceConfig
  /** The objective in use, ms: for a server with histograms, a bucket bound. */
  objectiveMs: number
  /** The last sample, and when it was read, ms. */
  sample: ServiceSample | null = null
  sampleMs: number
  state: EndpointState = 'idle'
  /** Requests answered since the start. */
  requests = 0
  readonly #reader: HttpReader
  /** Number of samples since the server last was unreachable or restarted. */
  #good = 0
  #isReady = true
  /** Earliest time of the next readiness probe, ms. */
  #probeMs = Number.NEGATIVE_INFINITY

  constructor(config: ServiceConfig, reader: HttpReader, nowMs: number) {
    this.config = config
    this.objectiveMs = config.objective.ms
    this.sampleMs = nowMs
    this.#reader = reader
  }

  /** Says that the objective in use differs from the configured one; null if it does not. */
  get notice(): string | null {
    const { config, objectiveMs } = this
    if (objectiveMs === config.objective.ms) return null
    return `${config.name}: the objective of ${config.objective.ms} ms is no bucket of the server's; ${objectiveMs} ms is judged`
  }

  /** Whether the operator's clocks must apply: the server drains, has not answered, or has only just come back. */
  isAway(timeMs: number): boolean {
    return this.state === 'draining' || this.#good < RECOVERY_SAMPLES || timeMs - this.sampleMs > STALE_MS
  }

  /**
   * Batching limits of the server; null if the server does not report them. Also reads the counters once, so that a
   * server that hides them is reported before the board is governed.
   *
   * @throws PctodlError `ENDPOINT`
   */
  async limits(): Promise<BatchLimits | null> {
    const { config } = this
    try {
      const limits =
        'triton' in config
          ? readTritonLimits(JSON.parse(await this.#get(modelUrl(config, 'config'), FIRST_TIMEOUT_MS)))
          : null
      const sample = await this.#read(FIRST_TIMEOUT_MS)
      this.objectiveMs = sample?.objectiveMs ?? this.objectiveMs
      if (sample !== null || !('triton' in config)) return limits
      const cause = `${metricsUrl(config)} has no ${PENDING} of the model ${config.model}`
      throw this.#refusal(`${cause}; name this server's metrics in the configuration, or update Triton`)
    } catch (error) {
      if (error instanceof PctodlError) throw error
      throw this.#refusal(`${messageOf(error)}; is the server up, and the model loaded?`)
    }
  }

  /**
   * Reads the counters.
   *
   * @returns a message if the server now drains, is unreachable or has restarted; otherwise null
   */
  async scrape(now: () => number): Promise<string | null> {
    let failure = ''
    const sample = await this.#read(TIMEOUT_MS).catch((error) => {
      failure = ` (${messageOf(error)})`
      return null
    })
    const timeMs = now()
    if (sample !== null) await this.#probe(timeMs)
    const before = this.state
    this.state = endpointState(this.sample, sample, this.#isReady)
    if (sample !== null) {
      this.#good = this.state === 'reset' ? 0 : this.#good + 1
      if (this.state !== 'reset') this.requests += sample.completed - (this.sample ?? sample).completed
      this.sample = sample
      this.sampleMs = timeMs
    } else if (timeMs - this.sampleMs > STALE_MS) this.#good = 0
    if (this.state === before || this.state === 'serving' || this.state === 'idle') return null
    return `${this.config.name}: ${this.state}${failure}`
  }

  /** @returns null if the server has no such model or series */
  async #read(timeoutMs: number): Promise<(ServiceSample & { readonly objectiveMs?: number }) | null> {
    const { config } = this
    const { ms } = config.objective
    if ('prometheus' in config) return readMapped(await this.#get(config.prometheus, timeoutMs), config.series, ms)
    if ('vllm' in config)
      return readVllm(config.model, await this.#get(`${config.vllm}/metrics`, timeoutMs), ms, config.objective.of)
    const [metrics, stats] = await Promise.all([
      this.#get(metricsUrl(config), timeoutMs),
      this.#get(modelUrl(config, 'stats'), timeoutMs),
    ])
    return readTriton(config.model, metrics, JSON.parse(stats))
  }

  /** While Triton drains, it still answers requests for metrics but is not ready. */
  async #probe(timeMs: number): Promise<void> {
    if (!('triton' in this.config) || timeMs < this.#probeMs) return
    this.#probeMs = timeMs + PROBE_MS
    const answer = await this.#reader.get(`${this.config.triton}/v2/health/ready`, TIMEOUT_MS).catch(() => null)
    this.#isReady = answer?.status === 200
  }

  async #get(address: string, timeoutMs: number): Promise<string> {
    const { status, text } = await this.#reader.get(address, timeoutMs)
    if (status === 200) return text
    if (status !== 401 && status !== 403) throw new Error(`${address} answers ${status}`)
    throw this.#refusal(`${address} answers ${status}, access is restricted; ${ALLOW}`)
  }

  #refusal(text: string): PctodlError {
    return new PctodlError('ENDPOINT', `${this.config.name}: ${text}`)
  }
}

function modelUrl({ triton, model }: TritonService, what: string): string {
  return `${triton}/v2/models/${encodeURIComponent(model)}/${what}`
}

/** URL of the metrics: by default, port 8002 of the same host. */
function metricsUrl({ triton, metrics }: TritonService): string {
  if (metrics !== undefined) return metrics
  const address = new URL('/metrics', triton)
  address.port = '8002'
  return address.href
}

function messageOf(error: unknown): string {
  if (error instanceof ZodError) return `statistics that are none: ${error.issues[0]!.message}`
  return error instanceof Error ? error.message : String(error)
}
