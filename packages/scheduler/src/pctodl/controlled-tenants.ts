import type { Predictor } from '@pctodl/perf-model'
import { smClocksAt, type Tenant } from '@pctodl/platform'
import { type ClockAction, ClockController, type ClockMechanism } from '@pctodl/thermo-dvfs'
import type { Candidate } from '../neighbourhood.js'
import type { Action, SampleObservation } from '../policy.js'
import { clockObservation } from './clock-observation.js'
import { MemoryClockControl } from './memory-clock-control.js'

/**
 * The running tenants and the controllers of their clocks. A change of tenants also changes the model that the
 * controllers use.
 */
export class ControlledTenants {
  readonly #predictor: Predictor
  readonly #without: readonly ClockMechanism[]
  #controller: ClockController | undefined
  #memory: MemoryClockControl | undefined
  #present: Candidate = { tenants: [], memClockMhz: 0 }
  #lastStep: ClockAction | undefined

  constructor(predictor: Predictor, without: readonly ClockMechanism[] = []) {
    this.#predictor = predictor
    this.#without = without
  }

  /** Whether the memory clock is the lowest one available. */
  get memoryIsLowest(): boolean {
    return this.#present.memClockMhz === Math.min(...this.#predictor.memClocksMhz)
  }

  get present(): Candidate {
    return this.#present
  }

  /** Last decision of the SM clock controller. */
  get lastStep(): ClockAction | undefined {
    return this.#lastStep
  }

  /** Measured power divided by predicted power. */
  get powerRatio(): number {
    if (!this.#lastStep) return 1
    const { estimatedPowerW, biasW } = this.#lastStep
    return estimatedPowerW / (estimatedPowerW - biasW)
  }

  /** Changes to other tenants and to the memory clock of their plan. */
  adopt({ tenants, memClockMhz }: Candidate): Action {
    this.#put({ tenants, memClockMhz })
    this.#memory = new MemoryClockControl(this.#predictor.memClocksMhz, memClockMhz)
    return { tenants, memClockMhz }
  }

  /** Changes to other tenants; the memory clock stays. */
  replace(tenants: readonly Tenant[]): Action {
    this.#put({ ...this.#present, tenants })
    return { tenants }
  }

  /** SM clock at which the present tenants hold a cap, MHz. It is requested before new tenants draw power. */
  clockBefore(powerCapW: number, powerLimitW?: number): number {
    return this.#controller!.clockBefore(powerCapW, powerLimitW)
  }

  /**
   * Sets the controllers' model to the given tenants because the others have stopped. Otherwise the controllers would
   * attribute the missing power to the model.
   */
  onlyRunning(tenants: readonly Tenant[]): void {
    this.#model({ ...this.#present, tenants })
  }

  /** Decides on the SM clock of this sample. */
  step(sample: SampleObservation): ClockAction {
    this.#lastStep = this.#controller!.step(clockObservation(sample))
    return this.#lastStep
  }

  /** Decides on the memory clock of this sample; called after the SM clock's step. */
  stepMemory({ timeMs, powerCapW }: SampleObservation): Action {
    const { spec } = this.#predictor
    const { tenants, memClockMhz: before } = this.#present
    const memClockMhz = this.#memory!.step({
      timeMs,
      powerCapW,
      infeasible: this.#lastStep?.status === 'infeasible',
      memClockMhz: before,
      lowestPowerW: (clockMhz) => {
        const smClockMhz = smClocksAt(spec, clockMhz)![0]!
        const { powerW } = this.#predictor.predict({ tenants, smClockMhz, memClockMhz: clockMhz })
        return powerW * this.powerRatio
      },
    })
    if (memClockMhz === before) return {}
    this.#put({ tenants, memClockMhz })
    return {
      memClockMhz,
      reason:
        memClockMhz < before
          ? 'the lowest SM clock does not hold the cap'
          : 'the higher memory clock fits under the cap again',
    }
  }

  #put(candidate: Candidate): void {
    this.#model(candidate)
    this.#present = candidate
  }

  #model({ tenants, memClockMhz }: Candidate): void {
    const { spec } = this.#predictor
    const smClocksMhz = smClocksAt(spec, memClockMhz)!
    const known = smClocksAt(spec, this.#present.memClockMhz)
    if (!this.#controller || !sameClocks(known, smClocksMhz)) {
      this.#controller = new ClockController({ smClocksMhz, reading: spec.powerReading, without: this.#without })
    }
    this.#controller.setPlant(
      smClocksMhz.map((smClockMhz) => this.#predictor.predict({ tenants, smClockMhz, memClockMhz }).powerW),
    )
  }
}

function sameClocks(a: readonly number[] | undefined, b: readonly number[]): boolean {
  return a !== undefined && a.length === b.length && a.every((clock, i) => clock === b[i])
}
