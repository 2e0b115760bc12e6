import type { PartitionOptions } from '@pctodl/greedy-partition'
import type { Predictor } from '@pctodl/perf-model'
import { type Configuration, InfeasibleCapError, smClocksAt, type Tenant } from '@pctodl/platform'
import { type ClockAction, ClockController } from '@pctodl/thermo-dvfs'
import { planPartition } from './plan-partition.js'
import type { Action, PowerCapPolicy, SampleObservation, WindowObservation } from './policy.js'

export interface PctodlPolicyOptions {
  readonly predictor: Predictor
  /** The network that all tenants serve. */
  readonly model: string
  /** Watts to plan below the cap; the controller still holds the cap itself. Default 0. */
  readonly powerMarginW?: number
  /**
   * Gain error of the power sensor to allow for, percent: a cap is meant in true watts, and no controller can see what its
   * sensor gets wrong. Default 2, about two standard deviations of good boards; 0 holds the cap in the sensor's watts.
   */
  readonly sensorTolerancePercent?: number
  /**
   * The board's own power limit is set this far above the cap, percent, as a back-stop for what no controller can foresee
   * (clamped to the board's range); null leaves it alone. Default 10.
   */
  readonly backstopPercent?: number | null
  /** Repartition after a cap change only if the samples lost in restarts are regained within this time, s. Default 60. */
  readonly payBackS?: number
  readonly partition?: Omit<PartitionOptions, 'models' | 'powerCapW' | 'powerMarginW'>
}

/** Time in which a restarted tenant completes nothing: process start and model load, s. */
const RESTART_S = 4

/**
 * PctoDL: find shares, batch sizes and clocks with the predictor, then hold the cap with the SM clock. After a cap change
 * the clock follows at once, and the partition only where it pays.
 */
export class PctodlPolicy implements PowerCapPolicy {
  readonly name = 'pctodl'
  readonly #options: PctodlPolicyOptions
  #controller: ClockController | undefined
  #tenants: readonly Tenant[] = []
  #memClockMhz = 0
  #memoryBytes: number
  #lastStep: ClockAction | undefined

  constructor(options: PctodlPolicyOptions) {
    this.#options = options
    this.#memoryBytes = options.partition?.memoryBytes ?? options.predictor.spec.memoryBytes
  }

  /** What the controller last said, for logs and reports. */
  get lastStep(): ClockAction | undefined {
    return this.#lastStep
  }

  start(powerCapW: number): Action {
    const plan = this.#plan(powerCapW)
    return { ...this.#adopt(plan.tenants, plan.memClockMhz), smClockMhz: plan.smClockMhz, ...this.#backstop(powerCapW) }
  }

  onCapChange(powerCapW: number): Action {
    return { ...this.#repartition(powerCapW), ...this.#backstop(powerCapW) }
  }

  onSample({ timeMs, telemetry, powerCapW, reconfiguring, applied }: SampleObservation): Action | undefined {
    this.#lastStep = this.#controller!.step({
      timeMs,
      powerCapW,
      powerAverageW: telemetry.powerAverageW,
      powerInstantW: telemetry.powerInstantW,
      smClockMhz: telemetry.smClockMhz,
      loading: reconfiguring,
    })
    const { smClockMhz } = this.#lastStep
    return smClockMhz === applied.smClockMhz ? undefined : { smClockMhz }
  }

  onWindow({ tenants, powerCapW, reconfigured }: WindowObservation): Action | undefined {
    if (reconfigured || !tenants.some((tenant) => tenant.failure?.startsWith('out of memory'))) return undefined
    // The board has less memory than the model thinks: plan again for a tenth less.
    this.#memoryBytes *= 0.9
    const plan = this.#plan(powerCapW)
    return this.#adopt(plan.tenants, plan.memClockMhz)
  }

  #plan(powerCapW: number): Configuration {
    const { predictor, model, powerMarginW = 0, partition: options } = this.#options
    const memoryBytes = this.#memoryBytes
    return planPartition(predictor, { ...options, model, powerCapW, powerMarginW, memoryBytes })
  }

  /** New tenants for a new cap, where they pay. */
  #repartition(powerCapW: number): Action {
    const { predictor, payBackS = 60 } = this.#options
    let plan: Configuration
    try {
      plan = this.#plan(powerCapW)
    } catch (error) {
      // A running service is not ended by a cap that nothing keeps: the controller goes to the lowest clock and says so.
      if (error instanceof InfeasibleCapError) return {}
      throw error
    }
    const smClockMhz = predictor.solveSmClock(this.#tenants, this.#memClockMhz, powerCapW)
    if (smClockMhz === undefined) return this.#adopt(plan.tenants, plan.memClockMhz)
    const staying = predictor.predict({ tenants: this.#tenants, smClockMhz, memClockMhz: this.#memClockMhz }).throughput
    const gain = predictor.predict(plan).throughput - staying
    const restarted = plan.tenants.length - kept(this.#tenants, plan.tenants)
    const lostSamples = (RESTART_S * staying * restarted) / plan.tenants.length
    return gain > 0 && lostSamples <= gain * payBackS ? this.#adopt(plan.tenants, plan.memClockMhz) : {}
  }

  #adopt(tenants: readonly Tenant[], memClockMhz: number): Action {
    const { predictor, sensorTolerancePercent = 2 } = this.#options
    const { spec } = predictor
    const smClocksMhz = smClocksAt(spec, memClockMhz)!
    if (!this.#controller || memClockMhz !== this.#memClockMhz) {
      this.#controller = new ClockController({ smClocksMhz, reading: spec.powerReading, sensorTolerancePercent })
    }
    this.#tenants = tenants
    this.#memClockMhz = memClockMhz
    this.#controller.setPlant(
      smClocksMhz.map((smClockMhz) => predictor.predict({ tenants, smClockMhz, memClockMhz }).powerW),
    )
    return { tenants, memClockMhz }
  }

  #backstop(powerCapW: number): Action {
    const { backstopPercent = 10 } = this.#options
    if (backstopPercent === null) return {}
    const { min, default: top } = this.#options.predictor.spec.powerLimitW
    return { powerLimitW: Math.round(Math.min(top, Math.max(min, powerCapW * (1 + backstopPercent / 100)))) }
  }
}

/** How many of `next` can be served by processes of `present`. */
function kept(present: readonly Tenant[], next: readonly Tenant[]): number {
  const left = present.map((tenant) => `${tenant.model} ${tenant.mpsPercent}`)
  let count = 0
  for (const tenant of next) {
    const index = left.indexOf(`${tenant.model} ${tenant.mpsPercent}`)
    if (index < 0) continue
    left.splice(index, 1)
    count++
  }
  return count
}
