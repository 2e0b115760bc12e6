import { sameProcess, type Tenant } from '@pctodl/platform'
import type { JudgedEvent } from '../record/judged-event.js'
import type { PowerSeries } from './power-signal.js'

export type ActuationKind = 'sm-clock' | 'mem-clock' | 'power-limit' | 'repartition' | 'batch-sizes'

export interface Actuation {
  readonly timeMs: number
  readonly kind: ActuationKind
}

/** The data by which a run is evaluated. */
export interface RunRecording {
  readonly durationMs: number
  readonly power: PowerSeries
  /** Number of samples completed since the run began, at each time of `power`. */
  readonly completed: readonly number[]
  /** Reading of the board's energy counter at each time of `power`, J. */
  readonly energyCounterJ: readonly (number | null)[]
  readonly actuations: readonly Actuation[]
}

/** Settings that a controller requested; an absent setting stays as it is. */
interface Settings {
  readonly tenants?: readonly Tenant[]
  readonly smClockMhz?: number | 'unlocked'
  readonly memClockMhz?: number | 'unlocked'
  readonly powerLimitW?: number
}

/** The events that an evaluation reads. Every `RunEvent` of `@pctodl/scheduler` is valid. */
type EvaluatedEvent =
  | {
      readonly timeMs: number
      readonly type: 'sample'
      readonly powerCapW: number
      readonly telemetry: { readonly powerAverageW: number | null; readonly energyJ: number | null }
      readonly completed: number
    }
  | { readonly timeMs: number; readonly type: 'action'; readonly action: Settings }
  | { readonly timeMs: number; readonly type: Exclude<JudgedEvent['type'], 'sample' | 'action'> }

/** Builds a recording from a run's events: `onEvent: (event) => recorder.add(event)`. */
export class RunRecorder {
  readonly #trueEnergyJ: (() => number) | undefined
  readonly #samples: Extract<EvaluatedEvent, { type: 'sample' }>[] = []
  readonly #trueW: number[] = []
  readonly #actuations: Actuation[] = []
  #lastEnergyJ: number
  #inForce: Settings = {}

  /**
   * @param trueEnergyJ returns the true energy that the board has drawn so far, J, if a simulated board reports it;
   *   used only in reports
   */
  constructor(trueEnergyJ?: () => number) {
    this.#trueEnergyJ = trueEnergyJ
    this.#lastEnergyJ = trueEnergyJ?.() ?? 0
  }

  add(event: EvaluatedEvent): void {
    if (event.type === 'action') this.#act(event.timeMs, event.action)
    else if (event.type === 'sample') {
      const spanMs = event.timeMs - (this.#samples.at(-1)?.timeMs ?? 0)
      this.#samples.push(event)
      if (!this.#trueEnergyJ) return
      const energyJ = this.#trueEnergyJ()
      this.#trueW.push(((energyJ - this.#lastEnergyJ) / Math.max(1e-9, spanMs)) * 1000)
      this.#lastEnergyJ = energyJ
    }
  }

  recording(): RunRecording {
    const samples = this.#samples
    return {
      durationMs: samples.at(-1)?.timeMs ?? 0,
      power: {
        timeMs: samples.map(({ timeMs }) => timeMs),
        powerCapW: samples.map(({ powerCapW }) => powerCapW),
        sensorW: samples.map(({ telemetry }) => telemetry.powerAverageW),
        ...(this.#trueEnergyJ ? { trueW: this.#trueW } : {}),
      },
      completed: samples.map(({ completed }) => completed),
      energyCounterJ: samples.map(({ telemetry }) => telemetry.energyJ),
      actuations: this.#actuations,
    }
  }

  #act(timeMs: number, action: Settings): void {
    const before = this.#inForce
    const changed = (setter: 'smClockMhz' | 'memClockMhz' | 'powerLimitW', kind: ActuationKind) => {
      if (action[setter] !== undefined && action[setter] !== before[setter]) this.#actuations.push({ timeMs, kind })
    }
    changed('smClockMhz', 'sm-clock')
    changed('memClockMhz', 'mem-clock')
    changed('powerLimitW', 'power-limit')
    if (action.tenants) {
      const restarts = needsRestart(before.tenants ?? [], action.tenants)
      this.#actuations.push({ timeMs, kind: restarts ? 'repartition' : 'batch-sizes' })
    }
    this.#inForce = { ...before, ...action }
  }
}

function needsRestart(before: readonly Tenant[], after: readonly Tenant[]): boolean {
  const left = [...before]
  for (const tenant of after) {
    const index = left.findIndex((other) => sameProcess(other, tenant))
    if (index < 0) return true
    left.splice(index, 1)
  }
  return left.length > 0
}
