import { type NvmlGpu, ServiceLease } from '@pctodl/nvml-control'
import { type Clock, PctodlError, systemClock } from '@pctodl/platform'
import type { GovernConfig } from './config.js'
import { Endpoint, type Scrape } from './endpoint.js'
import { GovernLaw } from './law/govern-law.js'
import { type EndpointState, endpointState, type ServiceSample } from './metrics/service-sample.js'

export interface GovernorOptions {
  readonly config: GovernConfig
  readonly gpu: NvmlGpu
  /** Only observes and predicts: it takes no lease and changes nothing. */
  readonly dryRun?: boolean
  /** Socket of the node service. Default: `$PCTODL_SERVICE_SOCKET`, or the usual path. */
  readonly serviceSocket?: string
  readonly clock?: Clock
  readonly onStep: (step: GovernStep) => void
  readonly onMessage: (message: string) => void
}

/** Observations and decision of one interval. */
export interface GovernStep {
  readonly at: string
  /**
   * The locked SM clock, or, in a dry run, the clock that would be locked. null: the operator's clock settings are in
   * force.
   */
  readonly smClockMhz: number | null
  readonly reason: string
  readonly powerW: number | null
  /** Predicted power at this clock and the present load, W. */
  readonly predictedW: number | null
  readonly busyShare: number
  readonly services: readonly ServiceStep[]
}

export interface ServiceStep {
  readonly name: string
  readonly state: EndpointState
  readonly ratePerS: number
  /**
   * Share of late requests in the interval. Servers without such a counter get an estimate from their latency sums.
   */
  readonly lateShare: number
  readonly queued: number
  readonly requests: number
  /** Energy since the start, J. It is updated once a minute. */
  readonly joules: number
}

/**
 * The node service ends a lease if its holder is silent for this time, ms. The operator's clocks are then back within 5
 * s.
 */
const SILENCE_MS = 4000
/** Interval between heartbeats of the lease, ms. */
const HEARTBEAT_MS = 1000
/** If a service has no fresh sample for this time, the operator's clocks return, ms. */
const STALE_MS = 2500
/** Number of samples to wait for after a server has come back. */
const RECOVERY_SAMPLES = 2
/** Interval between attempts to regain a lost lease, ms. */
const RETRY_MS = 5000

interface Watched {
  readonly endpoint: Endpoint
  sample: ServiceSample | null
  sampleMs: number
  state: EndpointState
  /** Number of samples since the server last was unreachable or restarted. */
  good: number
  requests: number
}

/** Governs the board until the signal aborts. Then it restores the board's previous settings and returns. */
export async function runGovernor(options: GovernorOptions, signal: AbortSignal): Promise<void> {
  const { config, gpu, clock = systemClock, onMessage } = options
  const endpoints = config.services.map((service) => new Endpoint(service))
  const limits = await Promise.all(endpoints.map((endpoint) => endpoint.limits()))
  for (const { notice } of endpoints) if (notice !== null) onMessage(notice)
  const law = new GovernLaw({
    spec: gpu.spec,
    services: endpoints.map(({ config: { name, objective }, objectiveMs }, i) => {
      return { name, objectiveMs, attainment: objective.attainment, limits: limits[i]! }
    }),
    powerCapW: config.powerCapW,
  })
  const board = new HeldClock(options)
  const watched = endpoints.map(
    (endpoint): Watched => ({ endpoint, sample: null, sampleMs: clock.now(), state: 'idle', good: 0, requests: 0 }),
  )
  try {
    while (!signal.aborted) {
      const startMs = clock.now()
      const scrapes = await Promise.all(endpoints.map((endpoint) => endpoint.scrape()))
      const telemetry = await gpu.sample()
      const timeMs = clock.now()
      for (const [i, each] of watched.entries()) take(each, scrapes[i]!, timeMs, onMessage)
      const samples = watched.map(({ sample, sampleMs }) => (sampleMs === timeMs ? sample : null))
      const decision = law.step({ timeMs, samples, telemetry })
      const away = watched.find((each) => isAway(each, timeMs))
      const late = watched.some(({ sampleMs }) => sampleMs !== timeMs)
      if (away !== undefined) law.release()
      const smClockMhz = away !== undefined ? null : late ? board.smClockMhz : decision.smClockMhz
      await board.set(smClockMhz, timeMs)
      const work = law.services.map((service) => service.work)
      options.onStep({
        at: new Date().toISOString(),
        smClockMhz: board.smClockMhz,
        reason:
          away !== undefined ? `${away.endpoint.config.name} is ${away.state}` : late ? 'late sample' : decision.reason,
        powerW: telemetry.powerAverageW,
        predictedW: smClockMhz === null ? null : law.power.predict(smClockMhz, work),
        busyShare: (telemetry.smUtilPercent ?? 0) / 100,
        services: watched.map(({ endpoint, state, sample, requests }, i) => ({
          name: endpoint.config.name,
          state,
          ratePerS: law.services[i]!.rates[1],
          lateShare: law.services[i]!.lateShare,
          queued: sample?.queued ?? 0,
          requests,
          joules: law.energy.joules[i]!,
        })),
      })
      const restMs = Math.max(0, config.intervalMs - (clock.now() - startMs))
      await clock.sleep(restMs, signal).catch(() => {})
    }
  } finally {
    await board.release()
  }
}

function isAway({ state, good, sampleMs }: Watched, timeMs: number): boolean {
  return state === 'draining' || good < RECOVERY_SAMPLES || timeMs - sampleMs > STALE_MS
}

/** Stores a server's answer and updates the server's state. */
function take(
  watched: Watched,
  { sample, ready, failure }: Scrape,
  timeMs: number,
  onMessage: (text: string) => void,
): void {
  const { name } = watched.endpoint.config
  const state = endpointState(watched.sample, sample, ready)
  if (state !== watched.state && (state === 'gone' || state === 'reset' || state === 'draining')) {
    onMessage(`${name}: ${state}${failure === null ? '' : ` (${failure})`}`)
  }
  watched.state = state
  if (sample === null) {
    if (timeMs - watched.sampleMs > STALE_MS) watched.good = 0
    return
  }
  watched.good = state === 'reset' ? 0 : watched.good + 1
  if (watched.sample !== null && state !== 'reset') watched.requests += sample.completed - watched.sample.completed
  watched.sample = sample
  watched.sampleMs = timeMs
}

/** An SM clock that is locked through the node service. */
class HeldClock {
  /** The locked clock, MHz, or, in a dry run, the clock that would be locked. */
  smClockMhz: number | null = null
  readonly #options: GovernorOptions
  #lease: ServiceLease | null = null
  #saidMs = Number.NEGATIVE_INFINITY
  #triedMs = Number.NEGATIVE_INFINITY

  constructor(options: GovernorOptions) {
    this.#options = options
  }

  /** @param smClockMhz null restores the operator's clock settings */
  async set(smClockMhz: number | null, timeMs: number): Promise<void> {
    if (this.#options.dryRun) {
      this.smClockMhz = smClockMhz
      return
    }
    try {
      if (this.#lease?.isHeld !== true) await this.#acquire(timeMs)
      const lease = this.#lease
      if (lease?.isHeld !== true) return
      if (smClockMhz !== this.smClockMhz) {
        if (smClockMhz === null) await lease.resetSmClock()
        else await lease.lockSmClock(smClockMhz)
        this.smClockMhz = smClockMhz
        this.#saidMs = timeMs
      } else if (timeMs - this.#saidMs >= HEARTBEAT_MS) {
        await lease.verify()
        this.#saidMs = timeMs
      }
    } catch (error) {
      if (!(error instanceof PctodlError)) throw error
      this.#options.onMessage(`the board cannot be governed now: ${error.message}`)
      await this.release()
    }
  }

  async #acquire(timeMs: number): Promise<void> {
    this.smClockMhz = null
    if (timeMs - this.#triedMs < RETRY_MS) return
    this.#triedMs = timeMs
    const { gpu, serviceSocket } = this.#options
    const { uuid, subject } = gpu.device
    const socket = serviceSocket === undefined ? {} : { socket: serviceSocket }
    this.#lease = await ServiceLease.acquire(
      { uuid, subject, spec: gpu.spec },
      { ...socket, silenceMs: SILENCE_MS, timeoutMs: 2000 },
    )
    this.#saidMs = timeMs
  }

  async release(): Promise<void> {
    const lease = this.#lease
    this.#lease = null
    this.smClockMhz = null
    // If the node service cannot restore the board now, it keeps trying.
    await lease?.release().catch(() => {})
  }
}
