import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { PctodlError } from '@pctodl/platform'
import { ZodError } from 'zod'
import type { MappedService, ServiceConfig, VllmService } from './config.js'
import { type HistogramSample, readMapped, readVllm } from './metrics/histograms.js'
import type { BatchLimits, ServiceSample } from './metrics/service-sample.js'
import { readTriton, readTritonLimits } from './metrics/triton.js'

/** Limits of an answer: time (ms) and size (bytes). If an answer exceeds one, the server counts as not answering. */
const TIMEOUT_MS = 1000
/** Time limit of the first answer, ms. It is longer, because without that answer the program cannot start. */
const FIRST_TIMEOUT_MS = 10_000
const MAX_BYTES = 4 * 1024 * 1024
const REMEDY =
  'allow it from this host; for Triton, leave statistics and model-config out of --http-restricted-api (PyTriton: TritonSecurityConfig.restricted_endpoints)'
/** Interval between readiness probes, ms. */
const PROBE_MS = 1000

const agent = new http.Agent({ keepAlive: true })
const tlsAgent = new https.Agent({ keepAlive: true })

export interface Scrape {
  /** Null if the server did not answer or has no such model. */
  readonly sample: ServiceSample | null
  /** Result of the readiness probe. */
  readonly ready: boolean
  /** Why there is no sample; null if there is one. */
  readonly failure: string | null
}

/** Reads the counters of one service from its server. */
export class Endpoint {
  readonly config: ServiceConfig
  /** The objective in use, ms: for a server with histograms, a bucket bound. */
  objectiveMs: number
  #ready = true
  /** Earliest time of the next readiness probe, ms. */
  #probeMs = 0

  constructor(config: ServiceConfig) {
    this.config = config
    this.objectiveMs = config.objective.ms
  }

  /** Says that the objective in use differs from the configured one; null if it does not. */
  get notice(): string | null {
    const { config, objectiveMs } = this
    if (objectiveMs === config.objective.ms) return null
    return `${config.name}: the objective of ${config.objective.ms} ms is no bucket of the server's; ${objectiveMs} ms is judged`
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
      if ('triton' in config) {
        const limits = readTritonLimits(JSON.parse(await this.#get(tritonModel(config, 'config'), FIRST_TIMEOUT_MS)))
        await this.#sample(FIRST_TIMEOUT_MS)
        return limits
      }
      this.objectiveMs = (await this.#histogram(config, FIRST_TIMEOUT_MS))?.objectiveMs ?? this.objectiveMs
      return null
    } catch (error) {
      if (error instanceof PctodlError) throw error
      throw new PctodlError('ENDPOINT', `${config.name}: ${messageOf(error)}; is the server up, and the model loaded?`)
    }
  }

  async scrape(): Promise<Scrape> {
    try {
      const sample = await this.#sample()
      const failure =
        sample === null ? `no series of ${'model' in this.config ? this.config.model : 'that name'}` : null
      return { sample, ready: await this.#isReady(), failure }
    } catch (error) {
      return { sample: null, ready: false, failure: messageOf(error) }
    }
  }

  async #sample(timeoutMs = TIMEOUT_MS): Promise<ServiceSample | null> {
    const { config } = this
    if ('triton' in config) {
      const [metrics, stats] = await Promise.all([
        this.#get(config.metrics ?? defaultMetrics(config.triton), timeoutMs),
        this.#get(tritonModel(config, 'stats'), timeoutMs),
      ])
      return readTriton(config.model, metrics, JSON.parse(stats))
    }
    return this.#histogram(config, timeoutMs)
  }

  async #histogram(config: VllmService | MappedService, timeoutMs: number): Promise<HistogramSample | null> {
    const { ms } = config.objective
    if ('prometheus' in config) return readMapped(await this.#get(config.prometheus, timeoutMs), config.series, ms)
    return readVllm(config.model, await this.#get(`${config.vllm}/metrics`, timeoutMs), ms, config.objective.of)
  }

  /** While Triton drains, it still answers requests for metrics but is not ready. */
  async #isReady(): Promise<boolean> {
    if (!('triton' in this.config)) return true
    if (performance.now() < this.#probeMs) return this.#ready
    const answer = await request(`${this.config.triton}/v2/health/ready`, TIMEOUT_MS)
    answer.resume()
    this.#ready = answer.statusCode === 200
    this.#probeMs = performance.now() + PROBE_MS
    return this.#ready
  }

  async #get(address: string, timeoutMs: number): Promise<string> {
    const answer = await request(address, timeoutMs)
    if (answer.statusCode !== 200) {
      answer.resume()
      const refusal = `${address} answers ${answer.statusCode}`
      if (answer.statusCode !== 401 && answer.statusCode !== 403) throw new Error(refusal)
      throw new PctodlError('ENDPOINT', `${this.config.name}: ${refusal}, access is restricted; ${REMEDY}`)
    }
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of answer) {
      bytes += chunk.length
      if (bytes > MAX_BYTES) throw new Error(`${address} answers with more than ${MAX_BYTES} bytes`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks).toString('utf8')
  }
}

/**
 * Requests use `http.get`, because `fetch` takes four times the CPU time, and this code runs several times a second.
 */
function request(address: string, timeoutMs: number): Promise<IncomingMessage> {
  const isTls = address.startsWith('https:')
  return new Promise((resolve, reject) => {
    const options = { agent: isTls ? tlsAgent : agent, signal: AbortSignal.timeout(timeoutMs) }
    const sent = (isTls ? https : http).get(address, options, resolve)
    sent.on('error', (error) => {
      reject(error.name === 'AbortError' ? new Error(`${address} did not answer within ${timeoutMs} ms`) : error)
    })
  })
}

function tritonModel({ triton, model }: { readonly triton: string; readonly model: string }, what: string): string {
  return `${triton}/v2/models/${encodeURIComponent(model)}/${what}`
}

function defaultMetrics(server: string): string {
  const address = new URL('/metrics', server)
  address.port = '8002'
  return address.href
}

function messageOf(error: unknown): string {
  if (error instanceof ZodError) return `statistics that are none: ${error.issues[0]!.message}`
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
