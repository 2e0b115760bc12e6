import type { NvmlGpu } from '@pctodl/nvml-control'
import { type Clock, systemClock } from '@pctodl/platform'
import type { GovernConfig } from './config.js'
import { Endpoint } from './endpoint.js'
import { HeldClock } from './held-clock.js'
import { HttpReader } from './http-reader.js'
import { GovernLaw } from './law/govern-law.js'
import type { EndpointState } from './metrics/service-sample.js'

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
  /** Energy since the start, J. */
  readonly joules: number
}

/** Governs the board until the signal aborts. Then it restores the board's previous settings and returns. */
export async function runGovernor(options: GovernorOptions, signal: AbortSignal): Promise<void> {
  const { config, gpu, dryRun = false, serviceSocket, clock = systemClock, onMessage } = options
  const reader = new HttpReader()
  const endpoints = config.services.map((service) => new Endpoint(service, reader, clock.now()))
  const limits = await Promise.all(endpoints.map((endpoint) => endpoint.limits()))
  for (const { notice } of endpoints) if (notice !== null) onMessage(notice)
  const law = new GovernLaw({
    spec: gpu.spec,
    services: endpoints.map(({ config: { name, objective }, objectiveMs }, i) => {
      return { name, objectiveMs, attainment: objective.attainment, limits: limits[i]! }
    }),
    powerCapW: config.powerCapW,
  })
  const board = new HeldClock({ gpu, dryRun, serviceSocket, onMessage })
  try {
    while (!signal.aborted) {
      const startMs = clock.now()
      reader.next()
      const messages = await Promise.all(endpoints.map((endpoint) => endpoint.scrape(() => clock.now())))
      for (const message of messages) if (message !== null) onMessage(message)
      const telemetry = await gpu.sample()
      const timeMs = clock.now()
      const samples = endpoints.map(({ sample, sampleMs }) => (sampleMs >= startMs ? sample : null))
      const decision = law.step({ timeMs, samples, telemetry })
      let { smClockMhz, reason } = decision
      const away = endpoints.find((endpoint) => endpoint.isAway(timeMs))
      if (away !== undefined) {
        law.release()
        ;[smClockMhz, reason] = [null, `${away.config.name} is ${away.state}`]
      } else if (samples.includes(null)) [smClockMhz, reason] = [board.smClockMhz, 'late sample']
      await board.set(smClockMhz, timeMs)
      const work = law.services.map((service) => service.work)
      options.onStep({
        at: new Date().toISOString(),
        smClockMhz: board.smClockMhz,
        reason,
        powerW: telemetry.powerAverageW,
        predictedW: smClockMhz === null ? null : law.power.predict(smClockMhz, work),
        busyShare: (telemetry.smUtilPercent ?? 0) / 100,
        services: endpoints.map(({ config: { name }, state, sample, requests }, i) => {
          const { now, lateShare } = law.services[i]!
          const joules = law.power.joules[i]!
          return { name, state, ratePerS: now.perS, lateShare, queued: sample?.queued ?? 0, requests, joules }
        }),
      })
      const restMs = Math.max(0, config.intervalMs - (clock.now() - startMs))
      await clock.sleep(restMs, signal).catch(() => {})
    }
  } finally {
    await board.release()
  }
}
