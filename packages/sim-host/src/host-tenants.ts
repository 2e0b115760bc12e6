import type { SimulatedGpu, SimulatedProcess } from '@pctodl/gpu-sim'
import { PctodlError, systemClock, type Tenant } from '@pctodl/platform'
import { type BoardProcess, MAX_PROCESSES, NO_INSTANCE } from './board-file-layout.js'
import { type GivenWork, givenNetwork } from './control-protocol.js'
import type { HostMigDevice } from './host-mig.js'

/** Assumed bus traffic to the board per sample: one 224 x 224 RGB image of 32-bit floats. */
const INPUT_BYTES_PER_SAMPLE = 3 * 224 * 224 * 4
/** Assumed bus traffic from the board per sample: 1000 class scores as 32-bit floats. */
const OUTPUT_BYTES_PER_SAMPLE = 1000 * 4

/** Interval at which the host checks whether a step has ended, ms. The simulated board advances in ticks of 5 ms. */
const STEP_POLL_MS = 1
const TICK_MS = 5
/**
 * Maximum number of self-described works per board. The board keeps each until the host ends, so their number must be
 * limited.
 */
const MAX_GIVEN_WORKS = 64

export interface HostTenant {
  readonly pid: number
  readonly name: string
  readonly isMpsClient: boolean
  readonly process: SimulatedProcess
  /** MIG device of the process; undefined on an undivided board. */
  readonly device: HostMigDevice | undefined
  /** Fraction of the board's SMs that the process may use, 0..1. */
  readonly boardShare: number
  /** Time from the end of the process's last step until the process was informed, ms. */
  lateMs: number
}

export interface HostLaunch {
  readonly pid: number
  readonly name: string
  readonly isMpsClient: boolean
  readonly work: Tenant
  readonly device: HostMigDevice | undefined
  readonly stepwise: boolean
}

/** The processes on one board. Each has a real pid and simulated work. */
export class HostTenants {
  readonly #gpu: SimulatedGpu
  readonly #tenants: HostTenant[] = []
  readonly #givenWorks = new Set<string>()
  #samplesBefore = 0
  #samplesEnded = 0
  #measuredAtMs: number | undefined

  constructor(gpu: SimulatedGpu) {
    this.#gpu = gpu
  }

  get count(): number {
    return this.#tenants.length
  }

  get all(): readonly HostTenant[] {
    return this.#tenants
  }

  /** Returns the processes on one MIG device, or on the undivided board if `device` is undefined. */
  on(device: Pick<HostMigDevice, 'gpuInstanceId' | 'computeInstanceId'> | undefined): readonly HostTenant[] {
    return this.#tenants.filter(
      (tenant) =>
        tenant.device?.gpuInstanceId === device?.gpuInstanceId &&
        tenant.device?.computeInstanceId === device?.computeInstanceId,
    )
  }

  onGpuInstance(id: number): readonly HostTenant[] {
    return this.#tenants.filter((tenant) => tenant.device?.gpuInstanceId === id)
  }

  launch(launch: HostLaunch): HostTenant {
    const { pid, name, isMpsClient, work, device, stepwise } = launch
    // The MPS share refers to the SMs of the compute instance, which may be only part of the GPU instance.
    const mpsPercent = work.mpsPercent * (device?.smShare ?? 1)
    const place = device ? { instance: device.instance, stepwise } : { stepwise }
    const process = this.#gpu.launch({ ...work, mpsPercent }, place)
    const sms = (mpsPercent / 100) * (device?.instance ?? this.#gpu).spec.smCount
    const tenant = { pid, name, isMpsClient, process, device, boardShare: sms / this.#gpu.spec.smCount, lateMs: 0 }
    this.#tenants.push(tenant)
    return tenant
  }

  /** Ends a process; a second call does nothing. */
  end(tenant: HostTenant): void {
    const index = this.#tenants.indexOf(tenant)
    if (index < 0) return
    this.#tenants.splice(index, 1)
    this.#samplesEnded += tenant.process.samples
    this.#gpu.terminate(tenant.process)
  }

  /**
   * Registers work that a process describes itself.
   *
   * @returns the name under which the work can be launched like a network
   */
  addWork(work: GivenWork): string {
    const network = givenNetwork(work)
    if (this.#givenWorks.has(network.name)) return network.name
    if (this.#givenWorks.size === MAX_GIVEN_WORKS) {
      throw new PctodlError('NO_ROOM', `a board keeps ${MAX_GIVEN_WORKS} different works; use one of these`)
    }
    this.#givenWorks.add(network.name)
    this.#gpu.addNetwork(network)
    return network.name
  }

  /**
   * Executes one batch. Resolves when the batch ends in real time.
   *
   * @returns the duration of the batch on the board's clock, ms
   * @throws PctodlError if the process has failed or ended, or does not run stepwise
   */
  async step(tenant: HostTenant, batchSize: number): Promise<number> {
    const { process } = tenant
    if (!process.stepwise) throw new PctodlError('NOT_STEPWISE', 'attach with stepwise: true to run step by step')
    const requestedAtMs = this.#gpu.clock.now()
    await this.#until(tenant, () => process.state === 'running')
    const before = process.latencySumMs
    const nowMs = this.#gpu.clock.now()
    // The process was informed of its last batch's end `lateMs` too late, so it requests the next one too late by the
    // same time. The step is backdated by this time, at most one tick, so that the board does not idle.
    const due = nowMs - requestedAtMs > TICK_MS ? nowMs : requestedAtMs - tenant.lateMs
    this.#gpu.beginStep(process, Math.max(due, nowMs - TICK_MS), batchSize)
    await this.#until(tenant, () => process.waiting)
    tenant.lateMs = this.#gpu.clock.now() - process.lastCompletionMs
    return process.latencySumMs - before
  }

  async #until(tenant: HostTenant, done: () => boolean): Promise<void> {
    for (;;) {
      this.#gpu.catchUp()
      const { state, failure } = tenant.process
      if (state === 'failed') throw new PctodlError('PROCESS_FAILED', failure ?? 'the process failed')
      if (!this.#tenants.includes(tenant)) throw new PctodlError('PROCESS_ENDED', 'the process has ended')
      if (done()) return
      await systemClock.sleep(STEP_POLL_MS)
    }
  }

  setBatchSize(tenant: HostTenant, batchSize: number): void {
    this.#gpu.setBatchSize(tenant.process, batchSize)
  }

  /**
   * Returns the rows of the driver's process table. The board's utilization is divided among the running processes in
   * proportion to their SM shares.
   */
  processes(smUtilPercent: number, memUtilPercent: number): BoardProcess[] {
    const present = this.#tenants.filter(({ process }) => process.state !== 'failed').slice(0, MAX_PROCESSES)
    const shares = present.map(({ process, boardShare }) => (process.state === 'running' ? boardShare : 0))
    const sum = shares.reduce((total, share) => total + share, 0)
    return present.map(({ pid, name, isMpsClient, process, device }, i) => ({
      pid,
      name,
      isMpsClient: isMpsClient ? 1 : 0,
      usedBytes: process.memoryBytes,
      smUtilPercent: sum > 0 ? Math.round((smUtilPercent * shares[i]!) / sum) : 0,
      memUtilPercent: sum > 0 ? Math.round((memUtilPercent * shares[i]!) / sum) : 0,
      gpuInstanceId: device?.gpuInstanceId ?? NO_INSTANCE,
      computeInstanceId: device?.computeInstanceId ?? NO_INSTANCE,
    }))
  }

  /** Returns the average bus traffic since the last call, KiB/s, which NVML calls KB/s. */
  busTraffic(nowMs: number): { readonly rxKbps: number; readonly txKbps: number } {
    const samples = this.#samplesEnded + this.#tenants.reduce((sum, { process }) => sum + process.samples, 0)
    const elapsedMs = this.#measuredAtMs === undefined ? 0 : nowMs - this.#measuredAtMs
    const perSecond = elapsedMs > 0 ? ((samples - this.#samplesBefore) / elapsedMs) * 1000 : 0
    this.#samplesBefore = samples
    this.#measuredAtMs = nowMs
    return {
      rxKbps: Math.round((perSecond * INPUT_BYTES_PER_SAMPLE) / 1024),
      txKbps: Math.round((perSecond * OUTPUT_BYTES_PER_SAMPLE) / 1024),
    }
  }
}
