import type { SimulatedGpu, StruckFault } from '@pctodl/gpu-sim'
import { type GpuSpec, PctodlError, type Telemetry } from '@pctodl/platform'
import { BoardFile, type SetterAnswer } from './board-file.js'
import {
  ANY_PLACEMENT,
  type BoardEventType,
  type BoardIdentity,
  type BoardState,
  NOT_READ,
  NOT_READ_64,
  NOT_TOLD,
  operations,
  type Privilege,
} from './board-file-layout.js'
import { BoardSetters } from './board-setters.js'
import type { BoardReply } from './control-protocol.js'
import { driverFacts } from './driver-facts.js'
import { HostMig, type HostMigDevice } from './host-mig.js'
import { HostTenants } from './host-tenants.js'
import { eventReasonBits, nvmlReturn } from './nvml-return.js'

export interface HostBoardOptions {
  readonly folder: string
  readonly gpuIndex: number
  readonly gpuCount: number
  readonly seed: number
  readonly hostName: string | undefined
  readonly privilege: Privilege
  readonly fileMode: number
}

/**
 * Number of published states over which the reported utilization is averaged: those of the last half second. The driver
 * averages over a few tenths of a second.
 */
const UTILISATION_STATES = 25

/** Window over which the driver averages bus traffic, ms. */
const BUS_WINDOW_MS = 1000

/** NVIDIA's error numbers (XID). 79: the board has fallen off the bus. 31: a process accessed forbidden memory. */
const OFF_THE_BUS = 79
const MEMORY_FAULT = 31
const xidOfFault: Readonly<Partial<Record<StruckFault['kind'], number>>> = {
  'gpu-lost': OFF_THE_BUS,
  'mps-server-fault': MEMORY_FAULT,
}

/**
 * One simulated board and its board file. It writes the board's state to the file and applies the requests that
 * programs write there.
 */
export class HostBoard {
  readonly identity: BoardIdentity
  readonly setters: BoardSetters
  readonly tenants: HostTenants
  readonly mig: HostMig
  readonly #gpu: SimulatedGpu
  readonly #index: number
  readonly #file: BoardFile
  #bus = { rxKbps: 0, txKbps: 0 }
  #busAtMs = Number.NEGATIVE_INFINITY
  #sampledAtMs: number
  #violationPowerNs = 0
  #violationThermalNs = 0
  #faultsSeen = 0
  readonly #smUtilisation = new RecentMean(UTILISATION_STATES)
  readonly #memUtilisation = new RecentMean(UTILISATION_STATES)
  #absence: 'lost' | 'stopped' | null = null
  #clocks: Pick<BoardState, 'smClockMhz' | 'memClockMhz' | 'pstate'> | null = null

  private constructor(gpu: SimulatedGpu, setters: BoardSetters, options: HostBoardOptions) {
    this.#gpu = gpu
    this.#index = options.gpuIndex
    this.setters = setters
    this.tenants = new HostTenants(gpu)
    this.identity = driverFacts(
      gpu.spec,
      options.gpuIndex,
      options.seed,
      gpu.physics.process.reservedBytes,
      options.hostName,
    )
    this.mig = new HostMig(gpu, this.identity)
    this.#sampledAtMs = gpu.clock.now()
    const { gpuIndex, gpuCount, privilege, fileMode } = options
    this.#file = new BoardFile(options.folder, this.identity, { gpuIndex, gpuCount, privilege, mode: fileMode })
  }

  /** Opens the board. Like the driver, the host keeps the board open while it runs. */
  static async create(gpu: SimulatedGpu, options: HostBoardOptions): Promise<HostBoard> {
    return new HostBoard(gpu, new BoardSetters(gpu.spec, await gpu.acquire()), options)
  }

  /** Whether the power sensor has had its first reading. */
  async isMeasuring(): Promise<boolean> {
    return (await this.#gpu.sample()).powerAverageW !== null
  }

  /** Hides the board from programs; null makes it visible again, with the driver's default settings. */
  async setAbsence(absence: 'lost' | 'stopped' | null): Promise<void> {
    if (absence === 'lost' && this.#absence === null) this.#file.tell('xid', OFF_THE_BUS)
    this.#absence = absence
    if (absence === null) await this.setters.forget()
    await this.publish()
    if (absence === null) this.#file.show('present')
  }

  /** Returns the board's state for programs that ask the host directly. */
  async reading(): Promise<BoardReply> {
    const { uuid, name } = this.identity
    const { powerW, energyJ } = this.#gpu.truth()
    const known = { index: this.#index, uuid, name, truth: { powerW, energyJ } }
    const answers = this.#absence === null && (await this.#gpu.info().catch(() => null))
    if (!answers) {
      const nothing = { smClockMhz: null, memClockMhz: null, powerW: null, powerLimitW: null, energyJ: null }
      return { ...known, ...nothing, busyPercent: null }
    }
    const { smClockMhz, memClockMhz, powerAverageW, energyJ: countedJ } = await this.#gpu.sample()
    const read = { smClockMhz, memClockMhz, powerW: powerAverageW, energyJ: countedJ }
    return { ...known, ...read, powerLimitW: answers.powerLimitW, busyPercent: this.#smUtilisation.value }
  }

  async publish(): Promise<void> {
    if (this.#absence !== null) return this.#file.show(this.#absence)
    try {
      const { powerLimitW } = await this.#gpu.info()
      const now = await this.#gpu.sample()
      this.#smUtilisation.add(now.smUtilPercent)
      this.#memUtilisation.add(now.memUtilPercent)
      const means = { smUtilPercent: this.#smUtilisation.value, memUtilPercent: this.#memUtilisation.value }
      const state = this.#state({ ...now, ...means }, powerLimitW)
      this.#file.publish(state)
      this.#tellOfClocks(state)
    } catch (error) {
      if (!(error instanceof PctodlError) || error.code !== 'GPU_LOST') throw error
      this.#file.show('lost')
    }
  }

  /** Applies a request to change a setting. The change is visible in the board file before the result is returned. */
  async set(operation: number, first: number, second: number, third = 0): Promise<SetterAnswer> {
    if (this.#absence !== null) return { result: nvmlReturn.gpuIsLost, value: 0 }
    const answer = await this.#apply(operation, first, second, third)
    await this.publish()
    return answer
  }

  async serveRequests(): Promise<void> {
    for (const { slot, request } of this.#file.pending()) {
      const { operation, first, second, third } = request
      this.#file.answer(slot, request, await this.set(operation, first, second, third))
    }
  }

  /**
   * Sets whether future processes on the board, or on a GPU instance, run concurrently through MPS or in time slices.
   * It has no effect while processes run there.
   */
  shareThroughMps(wanted: boolean, device: HostMigDevice | undefined): void {
    if (device) {
      if (this.tenants.onGpuInstance(device.gpuInstanceId).length > 0) return
      // Compute instances of one GPU instance run concurrently even without MPS.
      this.#gpu.shareMigInstance(device.instance, wanted || device.smShare < 1 ? 'mps' : 'turns')
      return
    }
    if (this.tenants.count > 0) return
    if (wanted) this.#gpu.startMps()
    else this.#gpu.stopMps()
  }

  /**
   * Enables MIG mode and creates one MIG device for each profile.
   *
   * @throws PctodlError `NO_ROOM` if the profiles do not fit
   */
  divide(profiles: readonly string[]): void {
    this.mig.setMode(1, false)
    for (const name of profiles) {
      const profile = this.identity.migProfiles.find((each) => each.name === name)!
      const { result, value } = this.mig.createGpuInstance(profile.id, ANY_PLACEMENT)
      if (result !== nvmlReturn.success) {
        throw new PctodlError('NO_ROOM', `${profiles.join(', ')} do not fit on ${this.identity.name} in this order`)
      }
      this.mig.createComputeInstance(value, profile.sliceCount, ANY_PLACEMENT)
    }
  }

  /** Returns the faults that struck since the last call, and records their XIDs as events. */
  newFaults(): readonly StruckFault[] {
    const struck = this.#gpu.struckFaults().slice(this.#faultsSeen)
    this.#faultsSeen += struck.length
    for (const { kind } of struck) {
      const xid = xidOfFault[kind]
      if (xid !== undefined) this.#file.tell('xid', xid)
    }
    return struck
  }

  /** Records an event without any other effect on the board. */
  raise(event: BoardEventType, data: number): void {
    this.#file.tell(event, data)
  }

  #tellOfClocks({ smClockMhz, memClockMhz, pstate }: BoardState): void {
    const before = this.#clocks
    this.#clocks = { smClockMhz, memClockMhz, pstate }
    if (before === null) return
    if (before.smClockMhz !== smClockMhz || before.memClockMhz !== memClockMhz) this.#file.tell('clock', 0)
    if (before.pstate !== pstate) this.#file.tell('pstate', pstate)
  }

  close(): void {
    this.#file.close()
  }

  async #apply(operation: number, first: number, second: number, third: number): Promise<SetterAnswer> {
    const { mig, tenants } = this
    try {
      await this.#gpu.info()
    } catch {
      return { result: nvmlReturn.gpuIsLost, value: 0 }
    }
    switch (operation) {
      case operations.setMigMode:
        return mig.setMode(first, tenants.count > 0)
      case operations.createGpuInstance:
        return mig.createGpuInstance(first, second)
      case operations.destroyGpuInstance:
        return mig.destroyGpuInstance(first)
      case operations.createComputeInstance:
        return mig.createComputeInstance(first, second, third)
      case operations.destroyComputeInstance: {
        const inUse = tenants.on({ gpuInstanceId: first, computeInstanceId: second }).length > 0
        return mig.destroyComputeInstance(first, second, inUse)
      }
      default:
        return { result: await this.setters.apply(operation, first, second), value: 0 }
    }
  }

  #state(telemetry: Telemetry, powerLimitW: number): BoardState {
    const { spec, clock } = this.#gpu
    const nowMs = clock.now()
    if (nowMs - this.#busAtMs >= BUS_WINDOW_MS) {
      this.#bus = this.tenants.busTraffic(nowMs)
      this.#busAtMs = nowMs
    }
    const reasons = new Set(telemetry.clocksEventReasons)
    const sinceNs = (nowMs - this.#sampledAtMs) * 1e6
    this.#sampledAtMs = nowMs
    if (reasons.has('sw-power-cap')) this.#violationPowerNs += sinceNs
    if (reasons.has('sw-thermal-slowdown') || reasons.has('hw-slowdown')) this.#violationThermalNs += sinceNs
    // In MIG mode, the driver reports no utilization of the board.
    const utilisation = (percent: number | null) => (this.mig.enabled ? NOT_TOLD : (percent ?? NOT_READ))
    const gpuInstances = this.mig.gpuInstanceStates((id) =>
      this.tenants.onGpuInstance(id).reduce((sum, { process }) => sum + process.memoryBytes, 0),
    )
    const computeInstances = this.mig.computeInstanceStates()
    const processes = this.tenants.processes(telemetry.smUtilPercent ?? 0, telemetry.memUtilPercent ?? 0)
    const temperatureC = whole(telemetry.temperatureC)
    const pstate = performanceState(spec, telemetry.memClockMhz)
    return {
      timestampUs: clock.date().getTime() * 1000,
      energyMj: telemetry.energyJ === null ? NOT_READ_64 : Math.round(telemetry.energyJ * 1000),
      memoryUsedBytes: telemetry.memoryUsedBytes ?? NOT_READ_64,
      violationPowerNs: this.#violationPowerNs,
      violationThermalNs: this.#violationThermalNs,
      eventReasons: [...reasons].reduce((bits, reason) => bits | eventReasonBits[reason], 0),
      powerAverageMw: whole(telemetry.powerAverageW, 1000),
      powerInstantMw: this.identity.hasInstantPower ? whole(telemetry.powerInstantW, 1000) : NOT_TOLD,
      powerLimitMw: Math.round(powerLimitW * 1000),
      smClockMhz: whole(telemetry.smClockMhz),
      memClockMhz: whole(telemetry.memClockMhz),
      videoClockMhz: telemetry.smClockMhz === null ? NOT_READ : 15 * Math.round((0.9 * telemetry.smClockMhz) / 15),
      smUtilPercent: utilisation(telemetry.smUtilPercent),
      memUtilPercent: utilisation(telemetry.memUtilPercent),
      temperatureC,
      // HBM stacks run a few degrees hotter than the GPU's own sensor reports.
      memoryTemperatureC: this.identity.hasMemoryTemperature
        ? temperatureC === NOT_READ
          ? NOT_READ
          : temperatureC + 3
        : NOT_TOLD,
      fanPercent: this.identity.fanCount > 0 ? fanPercent(telemetry.temperatureC) : NOT_TOLD,
      pstate,
      // To save power, the driver switches the PCIe link of an idle board to generation 1.
      pcieGen: pstate >= 8 ? 1 : this.identity.pcieGenMax,
      pcieRxKbps: this.#bus.rxKbps,
      pcieTxKbps: this.#bus.txKbps,
      computeMode: this.setters.computeMode,
      persistenceMode: this.setters.persistenceMode,
      applicationSmClockMhz: this.setters.applicationSmClockMhz,
      applicationMemClockMhz: this.setters.applicationMemClockMhz,
      migCurrent: this.mig.enabled ? 1 : 0,
      migPending: this.mig.pending ? 1 : 0,
      gpuInstances,
      computeInstances,
      processes,
    }
  }
}

/** Mean over the last `length` values, without unknown ones; null if the latest value is unknown. */
class RecentMean {
  readonly #length: number
  #values: (number | null)[] = []

  constructor(length: number) {
    this.#length = length
  }

  add(value: number | null): void {
    this.#values = [...this.#values.slice(1 - this.#length), value]
  }

  get value(): number | null {
    if (this.#values.at(-1) == null) return null
    const known = this.#values.filter((each) => each !== null)
    return Math.round(known.reduce((sum, each) => sum + each, 0) / known.length)
  }
}

function whole(value: number | null, factor = 1): number {
  return value === null ? NOT_READ : Math.round(value * factor)
}

/**
 * Returns the performance state of a memory clock: P0 for the maximum clock, P8 for the minimum if there are several,
 * 32 if unknown.
 */
function performanceState(spec: GpuSpec, memClockMhz: number | null): number {
  const states = spec.clockStates.map((state) => state.memClockMhz).sort((a, b) => b - a)
  const index = states.indexOf(memClockMhz ?? Number.NaN)
  if (index < 0) return 32
  if (index > 0 && index === states.length - 1) return 8
  return [0, 2, 3, 5][index] ?? 5
}

/**
 * Returns the fan speed of a GeForce board, percent: 0 below 50 degrees Celsius, then linear from 30 % at 50 to 100 %
 * at 90 degrees.
 */
function fanPercent(temperatureC: number | null): number {
  if (temperatureC === null) return NOT_READ
  if (temperatureC < 50) return 0
  return Math.min(100, Math.round(30 + ((temperatureC - 50) / 40) * 70))
}
