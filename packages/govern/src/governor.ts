import type { NvmlGpu } from '@pctodl/nvml-control'
import { systemClock } from '@pctodl/platform'
import type { GovernConfig } from './config.js'
import { Endpoint } from './endpoint.js'
import { HeldClock } from './held-clock.js'
import { GovernLaw } from './law/govern-law.js'
import type { EndpointState } from './metrics/service-sample.js'
import { pageReader } from './page-reader.js'

/** Time limit of answers, ms. That of the first is longer, because without them the program cannot start. */
const TIMEOUT_MS = 1000
const FIRST_TIMEOUT_MS = 10_000

export interface GovernorOptions {
  readonly config: GovernConfig
  readonly gpu: NvmlGpu
  /** Only observes and predicts: it takes no lease and changes nothing. */
  readonly dryRun?: boolean
  readonly onStep: (step: GovernStep) => void
  readonly onMessage: (message: string) => void
}

export interface GovernStep {
  readonly at: string
  /** The locked SM clock, or in a dry run the one that would be locked; null if the operator's settings are in force. */
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
  /** Share of late requests in the interval; for Triton, an estimate from sums of latencies. */
  readonly lateShare: number
  readonly queued: number
  readonly requests: number
  readonly joules: number
}

/** Governs the board until the signal aborts. Then it restores the board's previous settings and returns. */
export async function runGovernor(options: GovernorOptions, signal: AbortSignal): Promise<void> {
  const { config, gpu, dryRun = false, onMessage } = options
  const now = () => systemClock.now()
  const first = pageReader(FIRST_TIMEOUT_MS)
  const endpoints = await Promise.all(config.services.map((service) => Endpoint.open(service, first, now())))
  const newLaw = () => {
    const goals = endpoints.map(({ goal }) => goal)
    config.services.forEach(({ name, objective: { ms } }, i) => {
      const { objectiveMs } = goals[i]!
      if (objectiveMs !== ms)
        onMessage(`${name}: the objective of ${ms} ms is no bucket of the server's; ${objectiveMs} ms is judged`)
    })
    return new GovernLaw({ spec: gpu.spec, services: goals, powerCapW: config.powerCapW })
  }
  let law = newLaw()
  const board = new HeldClock(gpu, onMessage)
  try {
    while (!signal.aborted) {
      const startMs = now()
      const get = pageReader(TIMEOUT_MS)
      const messages = await Promise.all(endpoints.map((endpoint) => endpoint.scrape(get, now)))
      for (const message of messages) if (message !== null) onMessage(message)
      const telemetry = await gpu.sample()
      const timeMs = now()
      // What was learnt with other limits does not apply.
      if (endpoints.some(({ goal }, i) => goal !== law.services[i]!.goal)) law = newLaw()
      const samples = endpoints.map(({ sample, sampleMs }) => (sampleMs >= startMs ? sample : null))
      let { smClockMhz, reason } = law.step(samples, telemetry)
      const away = endpoints.find((endpoint) => endpoint.isAway(timeMs))
      if (away !== undefined) {
        law.release()
        ;[smClockMhz, reason] = [null, `${away.goal.name} is ${away.state}`]
      } else if (samples.includes(null)) [smClockMhz, reason] = [board.smClockMhz, 'late sample']
      if (dryRun) board.smClockMhz = smClockMhz
      else await board.set(smClockMhz, timeMs)
      options.onStep({
        at: new Date().toISOString(),
        smClockMhz: board.smClockMhz,
        reason,
        powerW: telemetry.powerAverageW,
        predictedW: smClockMhz === null ? null : law.predictW(smClockMhz),
        busyShare: (telemetry.smUtilPercent ?? 0) / 100,
        services: endpoints.map(({ goal: { name }, state, sample, requests }, i) => {
          const { rate, lateShare } = law.services[i]!
          const joules = law.power.joules[i]!
          return { name, state, ratePerS: rate.perS, lateShare, queued: sample?.queued ?? 0, requests, joules }
        }),
      })
      await systemClock.sleep(Math.max(0, config.intervalMs - (now() - startMs)), signal).catch(() => {})
    }
  } finally {
    await board.release()
  }
}
