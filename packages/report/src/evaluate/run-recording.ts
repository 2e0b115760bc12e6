import { sameProcess, type Tenant } from '@pctodl/platform'
import type { Action, RunEvent, WindowObservation } from '@pctodl/scheduler'
import type { PowerSeries } from './power-series.js'

export type ActuationKind = 'sm-clock' | 'mem-clock' | 'power-limit' | 'repartition' | 'batch-sizes'

export interface Actuation {
  readonly timeMs: number
  readonly kind: ActuationKind
}

/** Everything of a run that its evaluation needs. */
export interface RunRecording {
  readonly board: string
  readonly policy: string
  readonly durationMs: number
  readonly power: PowerSeries
  /** Samples completed since the run began, at each time of `power`. */
  readonly completed: readonly number[]
  /** The board's energy counter at each time of `power`, J. */
  readonly energyCounterJ: readonly (number | null)[]
  readonly actuations: readonly Actuation[]
  readonly windows: readonly WindowObservation[]
}

/** Makes a recording out of a run's events: `onEvent: (event) => recorder.add(event)`. */
export class RunRecorder {
  readonly #trueEnergyJ: (() => number) | undefined
  readonly #timeMs: number[] = []
  readonly #powerCapW: number[] = []
  readonly #sensorW: (number | null)[] = []
  readonly #trueW: number[] = []
  readonly #completed: number[] = []
  readonly #energyCounterJ: (number | null)[] = []
  readonly #actuations: Actuation[] = []
  readonly #windows: WindowObservation[] = []
  #board = ''
  #policy = ''
  #lastEnergyJ: number
  #inForce: { smClockMhz?: unknown; memClockMhz?: unknown; powerLimitW?: unknown; tenants?: readonly Tenant[] } = {}

  /** @param trueEnergyJ energy drawn so far, where a simulated board tells it; only reports may know it */
  constructor(trueEnergyJ?: () => number) {
    this.#trueEnergyJ = trueEnergyJ
    this.#lastEnergyJ = trueEnergyJ?.() ?? 0
  }

  add(event: RunEvent): void {
    if (event.type === 'run-start') {
      this.#board = event.board
      this.#policy = event.policy
    } else if (event.type === 'action') this.#act(event.timeMs, event.action)
    else if (event.type === 'window') this.#windows.push(event.window)
    else if (event.type === 'sample') {
      const lastMs = this.#timeMs.at(-1) ?? 0
      this.#timeMs.push(event.timeMs)
      this.#powerCapW.push(event.powerCapW)
      this.#sensorW.push(event.telemetry.powerAverageW)
      this.#energyCounterJ.push(event.telemetry.energyJ)
      this.#completed.push(event.completed)
      if (this.#trueEnergyJ) {
        const energyJ = this.#trueEnergyJ()
        this.#trueW.push(((energyJ - this.#lastEnergyJ) / Math.max(1e-9, event.timeMs - lastMs)) * 1000)
        this.#lastEnergyJ = energyJ
      }
    }
  }

  recording(): RunRecording {
    return {
      board: this.#board,
      policy: this.#policy,
      durationMs: this.#timeMs.at(-1) ?? 0,
      power: {
        timeMs: this.#timeMs,
        powerCapW: this.#powerCapW,
        sensorW: this.#sensorW,
        ...(this.#trueEnergyJ ? { trueW: this.#trueW } : {}),
      },
      completed: this.#completed,
      energyCounterJ: this.#energyCounterJ,
      actuations: this.#actuations,
      windows: this.#windows,
    }
  }

  #act(timeMs: number, { smClockMhz, memClockMhz, powerLimitW, tenants }: Action): void {
    const before = this.#inForce
    const push = (kind: ActuationKind) => this.#actuations.push({ timeMs, kind })
    if (smClockMhz !== undefined && smClockMhz !== before.smClockMhz) push('sm-clock')
    if (memClockMhz !== undefined && memClockMhz !== before.memClockMhz) push('mem-clock')
    if (powerLimitW !== undefined && powerLimitW !== before.powerLimitW) push('power-limit')
    if (tenants !== undefined) push(needsRestart(before.tenants ?? [], tenants) ? 'repartition' : 'batch-sizes')
    this.#inForce = {
      smClockMhz: smClockMhz ?? before.smClockMhz,
      memClockMhz: memClockMhz ?? before.memClockMhz,
      powerLimitW: powerLimitW ?? before.powerLimitW,
      ...((tenants ?? before.tenants) ? { tenants: tenants ?? before.tenants! } : {}),
    }
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
