import type { ServerRun } from '@pctodl/bench-runner/server'
import type { ServiceReading } from '@pctodl/platform'
import type { Evaluation } from '@pctodl/report/evaluate'
import type { RunEvent } from '@pctodl/scheduler'

/** One reading of a run: time, ms; power, W; cap, W; SM clock, MHz; temperature, degrees C. Null if missing. */
export type Reading = readonly [
  timeMs: number,
  powerW: number | null,
  powerCapW: number,
  smClockMhz: number | null,
  temperatureC: number | null,
]

/** Throughput of a completed window, samples/s. */
export interface WindowRate {
  readonly endMs: number
  readonly throughput: number
}

/** An entry of the list of decisions. */
export interface Said {
  readonly timeMs: number
  readonly text: string
}

/** Outcomes of all services' requests until a time. */
export interface ServicesReading {
  readonly timeMs: number
  readonly of: readonly ServiceReading[]
}

/** The events of a run since the last frame. */
export interface RunFrame {
  readonly readings: readonly Reading[]
  readonly windows: readonly WindowRate[]
  readonly said: readonly Said[]
  /** In runs of services: the counters of all services, one entry for each second. */
  readonly services: readonly ServicesReading[]
  /** The running processes; absent if they have not changed. */
  readonly tenants?: string
}

/** Result of a run. */
export interface RunOutcome {
  /** The evaluation of the run; only in runs of processes that always have work. */
  readonly evaluation?: Evaluation
  /** The outcome of the run; only in runs of services. */
  readonly served?: Omit<ServerRun, 'recorded'>
  readonly notes: readonly string[]
}

/** Collects events into frames. */
export class FrameBuilder {
  #readings: Reading[] = []
  #windows: WindowRate[] = []
  #said: Said[] = []
  #services: ServicesReading[] = []
  #nextServicesMs = 0
  #tenants: string | undefined

  add(event: RunEvent): void {
    const { timeMs } = event
    if (event.type === 'sample') {
      const { powerAverageW, smClockMhz, temperatureC } = event.telemetry
      // Records of other programs may omit these optional fields.
      this.#readings.push([timeMs, powerAverageW, event.powerCapW, smClockMhz ?? null, temperatureC ?? null])
      if (event.services && timeMs >= this.#nextServicesMs) {
        this.#services.push({ timeMs, of: event.services })
        this.#nextServicesMs = 1000 * (Math.floor(timeMs / 1000) + 1)
      }
    } else if (event.type === 'window') {
      this.#windows.push({ endMs: event.window.endMs, throughput: event.window.throughput })
      const tenants = event.window.tenants.map(({ tenant }) => tenant)
      if (tenants.length > 0) this.#tenants = tenantsText(tenants)
    }
    const text = lineOf(event)
    if (text !== undefined) this.#said.push({ timeMs, text })
  }

  get isEmpty(): boolean {
    return this.#readings.length + this.#windows.length + this.#said.length + this.#services.length === 0
  }

  take(): RunFrame {
    const frame: RunFrame = {
      readings: this.#readings,
      windows: this.#windows,
      said: this.#said,
      services: this.#services,
      ...(this.#tenants === undefined ? {} : { tenants: this.#tenants }),
    }
    this.#readings = []
    this.#windows = []
    this.#said = []
    this.#services = []
    this.#tenants = undefined
    return frame
  }
}

function lineOf(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'cap':
      return `cap ${event.powerCapW} W`
    case 'action': {
      const { tenants, memClockMhz, reason } = event.action
      return tenants !== undefined || memClockMhz !== undefined ? (reason ?? 'new tenants') : undefined
    }
    case 'decision':
      return event.decision.kind === 'clock-status' ? undefined : event.decision.reason
    case 'refused':
      return `refused: ${event.message}`
    case 'tenant':
      return event.state === 'failed' ? `a process failed: ${event.failure ?? 'no reason given'}` : undefined
    case 'run-end':
      return event.outcome === 'done' ? undefined : `${event.outcome}: ${event.message ?? ''}`
    default:
      return undefined
  }
}

/** Groups identical tenants, e.g. `4 × 10 %, batch 32`. */
function tenantsText(tenants: readonly { readonly mpsPercent: number; readonly batchSize: number }[]): string {
  const counts = new Map<string, number>()
  for (const { mpsPercent, batchSize } of tenants) {
    const kind = `${Number(mpsPercent.toFixed(1))} %, batch ${batchSize}`
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return [...counts].map(([kind, count]) => `${count} × ${kind}`).join('; ')
}
