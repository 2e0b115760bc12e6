import { SeededRandom } from '@pctodl/numerics'
import { InvalidInputError, type Service, type ServiceCounters } from '@pctodl/platform'
import { idleState, type SteadyState } from '../steady-state.js'
import { type BatchSlot, newSlot, type ServedProcess, takeOver } from './batch-slot.js'
import { type MixSolver, RunningMixes } from './running-mixes.js'
import { type ServedService, ServiceState } from './served-service.js'

export interface ServingEngineOptions {
  /** Seed of the random spread of batch times. Default 1. */
  readonly seed?: number
  /**
   * Standard deviation of the natural logarithm of a batch's duration, for effects that differ from batch to batch.
   * Default 0: only the co-runners change the duration.
   */
  readonly batchSpread?: number
}

const COMPLETION = 0
const ARRIVAL = 1
const TIMER = 2

/**
 * Simulates the requests of several services on one board, as discrete events. Requests arrive, wait, are batched and
 * answered. A free process starts a batch once the batch is full or its first request has waited for `maxQueueDelayMs`.
 *
 * Between events, every batch progresses at the pace that the running combination of batches allows. When a batch
 * begins or ends, or a clock changes, the remaining work continues at the new pace. The board's state is the mean over
 * these intervals.
 *
 * Events at the same instant are processed in a fixed order: ends of batches, then arrivals, then expired waits, each
 * in the order of processes or services. So the same seed gives the same run.
 */
export class ServingEngine {
  readonly #services: ServiceState[] = []
  readonly #random: SeededRandom
  readonly #spread: number
  #solver: MixSolver
  #slots: readonly BatchSlot[] = []
  #mixes: RunningMixes
  /** Time up to which events have been processed, ms. */
  #nowMs: number
  /** Whether the running batches or their pace have changed since the end times of batches were computed. */
  #changed = true
  /** Time up to which the progress of batches and the mean state are computed, ms. */
  #accountedMs: number
  #smClockMhz = 0
  #memClockMhz = 0
  #slowdown = 1
  #state: SteadyState = idleState
  /** Throughput of answered requests, samples/s, not counting the padding of batches. */
  #throughput = 0
  #windowStartMs: number
  readonly #sums = new Float64Array(8)
  /** Mean state of the board over the last `advance`. */
  mean: SteadyState = idleState

  constructor(solver: MixSolver, nowMs: number, { seed = 1, batchSpread = 0 }: ServingEngineOptions = {}) {
    if (!(batchSpread >= 0 && batchSpread <= 2)) {
      throw new InvalidInputError('batchSpread', batchSpread, 'a standard deviation from 0 to 2')
    }
    this.#solver = solver
    this.#random = new SeededRandom(seed)
    this.#spread = batchSpread
    this.#nowMs = nowMs
    this.#accountedMs = nowMs
    this.#windowStartMs = nowMs
    this.#mixes = new RunningMixes(solver, [])
  }

  get serviceNames(): readonly string[] {
    return this.#services.map(({ service }) => service.name)
  }

  findService(name: string): Service | undefined {
    return this.#services.find(({ service }) => service.name === name)?.service
  }

  counters(): readonly ServiceCounters[] {
    return this.#services.map((service) => service.counters(this.#nowMs))
  }

  /** Adds a service. Its requests arrive from now on. */
  addService(served: ServedService): void {
    this.#services.push(new ServiceState(served, this.#nowMs))
  }

  /**
   * Removes a service; its waiting requests are shed.
   *
   * @returns its last counters
   */
  removeService(name: string): ServiceCounters {
    const index = this.#indexOf(name)
    const service = this.#services[index]!
    this.#shed(service, service.queue.length)
    this.#services.splice(index, 1)
    return service.counters(this.#nowMs)
  }

  /**
   * Changes the objective, weight, maximum batch size or longest wait of a service, for waiting and future requests.
   */
  changeService(changed: Service): void {
    this.#services[this.#indexOf(changed.name)]!.service = changed
    this.#rebuild()
  }

  /** Admits a fraction of the arriving requests, evenly spaced, and sheds the others. */
  admit(name: string, share: number): void {
    this.#services[this.#indexOf(name)]!.admitted = share
  }

  setSolver(solver: MixSolver): void {
    this.#solver = solver
    this.#rebuild()
  }

  /**
   * Sets the living processes, including hung ones. If a process is gone, the requests of its batch return to the front
   * of their queue. A request that loses its process for the second time fails.
   */
  setProcesses(processes: readonly ServedProcess[]): void {
    this.#account()
    for (const slot of this.#slots) {
      if (slot.size > 0 && !processes.includes(slot.process)) this.#lose(slot)
    }
    this.#rebuild(processes)
  }

  /** Whether the process has a batch in progress. */
  busy(process: ServedProcess): boolean {
    return this.#slots.some((slot) => slot.process === process && slot.size > 0)
  }

  /** Whether any process answers requests of this service or still runs a batch of them. */
  served(name: string): boolean {
    const service = this.#services[this.#indexOf(name)]!
    return this.#slots.some((slot) => slot.service === service || slot.batchOf === service)
  }

  /** Drains a process: it begins no further batches. */
  drain(process: ServedProcess): void {
    for (const slot of this.#slots) if (slot.process === process) slot.draining = true
  }

  /**
   * Advances time.
   *
   * @param toMs time to advance to, not before `nowMs`
   * @param slowdown factor by which other MIG instances of the board slow this one
   */
  advance(toMs: number, smClockMhz: number, memClockMhz: number, slowdown = 1): void {
    this.#windowStartMs = this.#nowMs
    this.#sums.fill(0)
    if (smClockMhz !== this.#smClockMhz || memClockMhz !== this.#memClockMhz || slowdown !== this.#slowdown) {
      this.#account()
      this.#smClockMhz = smClockMhz
      this.#memClockMhz = memClockMhz
      this.#slowdown = slowdown
      this.#mixes.setClocks(smClockMhz, memClockMhz)
      this.#changed = true
    }
    this.#beginEverywhere()
    this.#runTo(toMs)
    this.#nowMs = toMs
    this.#account()
    this.#closeWindow()
  }

  #runTo(toMs: number): void {
    const slots = this.#slots
    const services = this.#services
    for (;;) {
      if (this.#changed) this.#settle()
      let atMs = Number.POSITIVE_INFINITY
      let kind = COMPLETION
      let index = -1
      for (let i = 0; i < slots.length; i++) {
        const endMs = slots[i]!.endMs
        if (endMs < atMs) {
          atMs = endMs
          index = i
        }
      }
      for (let i = 0; i < services.length; i++) {
        const arrivalMs = services[i]!.nextArrivalMs
        if (arrivalMs < atMs) {
          atMs = arrivalMs
          kind = ARRIVAL
          index = i
        }
      }
      for (let i = 0; i < services.length; i++) {
        const timerMs = services[i]!.timerMs
        if (timerMs < atMs) {
          atMs = timerMs
          kind = TIMER
          index = i
        }
      }
      if (!(atMs <= toMs)) return
      // Because of rounding, the end of a batch may lie slightly before the present.
      if (atMs > this.#nowMs) this.#nowMs = atMs
      if (kind === COMPLETION) this.#complete(slots[index]!, index)
      else if (kind === TIMER) this.#begin(services[index]!)
      else if (services[index]!.arrive()) this.#begin(services[index]!)
    }
  }

  /**
   * Starts all batches of a service that can start. Called after an arrival, the end of a batch, or an expired wait.
   */
  #begin(service: ServiceState): void {
    const { queue } = service
    service.timerMs = Number.POSITIVE_INFINITY
    while (queue.length > 0) {
      const index = this.#freeSlot(service)
      if (index < 0) return
      while (queue.length > 0 && this.#nowMs - queue.firstArrivedMs >= service.shedAfterMs) this.#shed(service, 1)
      if (queue.length === 0) return
      const slot = this.#slots[index]!
      if (queue.length < slot.most) {
        const dueMs = queue.firstArrivedMs + service.service.maxQueueDelayMs
        if (this.#nowMs < dueMs) {
          service.timerMs = dueMs
          return
        }
      }
      this.#start(slot, index, service, Math.min(slot.most, queue.length))
    }
  }

  /** Index of the free process with the largest share; -1 if none is free. */
  #freeSlot(service: ServiceState): number {
    let best = -1
    for (let i = 0; i < this.#slots.length; i++) {
      const slot = this.#slots[i]!
      if (slot.service !== service || !isFree(slot)) continue
      if (best < 0 || slot.process.tenant.mpsPercent > this.#slots[best]!.process.tenant.mpsPercent) best = i
    }
    return best
  }

  #start(slot: BatchSlot, index: number, service: ServiceState | null, count: number): void {
    this.#account()
    let size = 1
    while (slot.sizes[size - 1]! < count) size++
    slot.size = size
    slot.count = count
    slot.batchOf = service
    if (service !== null) {
      service.queue.take(count, slot.arrivedMs, slot.again)
      service.running += count
    }
    slot.startMs = this.#nowMs
    slot.left = this.#spread === 0 ? 1 : Math.exp(this.#spread * (this.#random.normal() - this.#spread / 2))
    this.#mixes.change(index, size)
    this.#changed = true
  }

  #complete(slot: BatchSlot, index: number): void {
    this.#account()
    const { process, batchOf, count } = slot
    const nowMs = this.#nowMs
    process.batches++
    process.samples += count
    process.latencySumMs += nowMs - slot.startMs
    process.lastCompletionMs = nowMs
    process.lastBatchSize = count
    if (batchOf !== null) {
      batchOf.running -= count
      for (let i = 0; i < count; i++) batchOf.answer(nowMs - slot.arrivedMs[i]!)
    }
    this.#free(slot)
    this.#mixes.change(index, 0)
    this.#changed = true
    if (slot.service !== null) this.#begin(slot.service)
    else if (isFree(slot)) this.#start(slot, index, null, slot.most)
  }

  /** Handles the loss of a process during its batch. */
  #lose(slot: BatchSlot): void {
    const { batchOf, count, arrivedMs, again } = slot
    if (batchOf !== null) {
      batchOf.running -= count
      for (let i = count - 1; i >= 0; i--) {
        if (again[i] === 0) batchOf.queue.putBack(arrivedMs[i]!)
        else {
          batchOf.failed++
          batchOf.failure = `two processes died with the request, the last one at ${this.#nowMs} ms`
        }
      }
    }
    this.#free(slot)
  }

  #free(slot: BatchSlot): void {
    slot.size = 0
    slot.count = 0
    slot.batchOf = null
    slot.endMs = Number.POSITIVE_INFINITY
  }

  #shed(service: ServiceState, count: number): void {
    service.queue.drop(count)
    service.shed += count
  }

  #beginEverywhere(): void {
    for (const service of this.#services) if (service.queue.length > 0) this.#begin(service)
    this.#slots.forEach((slot, i) => {
      if (slot.service === null && isFree(slot)) this.#start(slot, i, null, slot.most)
    })
  }

  /** Creates slots for these processes. Processes that had a slot keep their batches. */
  #rebuild(processes: readonly ServedProcess[] = this.#slots.map(({ process }) => process)): void {
    this.#account()
    const before = this.#slots
    this.#slots = processes.map((process) => {
      const name = process.tenant.service
      const service = name === undefined ? null : this.#services[this.#indexOf(name)]!
      const slot = newSlot(process, service)
      const old = before.find((candidate) => candidate.process === process)
      if (!old) return slot
      if (old.size > 0) return takeOver(slot, old)
      return { ...slot, draining: old.draining }
    })
    this.#mixes = new RunningMixes(
      this.#solver,
      this.#slots.map(({ process, sizes }) => ({ ...process.tenant, sizes })),
    )
    this.#mixes.setClocks(this.#smClockMhz, this.#memClockMhz)
    this.#slots.forEach((slot, i) => {
      if (slot.size > 0 && !slot.process.hung) this.#mixes.change(i, slot.size)
    })
    this.#changed = true
  }

  /** Computes the pace of the running batches and their end times. */
  #settle(): void {
    const { state, batchMs } = this.#mixes.settled()
    this.#state = state
    this.#changed = false
    let throughput = 0
    for (let i = 0; i < this.#slots.length; i++) {
      const slot = this.#slots[i]!
      const paceMs = this.#slowdown * batchMs[i]!
      slot.batchMs = paceMs
      slot.endMs = slot.size > 0 && paceMs > 0 ? this.#nowMs + slot.left * paceMs : Number.POSITIVE_INFINITY
      if (paceMs > 0) throughput += (1000 * slot.count) / paceMs
    }
    this.#throughput = throughput
  }

  /** Updates the progress of batches and the mean state up to the present, at the pace since the last update. */
  #account(): void {
    const passedMs = this.#nowMs - this.#accountedMs
    if (passedMs <= 0) return
    this.#accountedMs = this.#nowMs
    for (let i = 0; i < this.#slots.length; i++) {
      const slot = this.#slots[i]!
      if (slot.endMs < Infinity) slot.left = Math.max(0, slot.left - passedMs / slot.batchMs)
    }
    const sums = this.#sums
    const state = this.#state
    sums[0]! += passedMs * state.busySms
    sums[1]! += passedMs * state.flopPerS
    sums[2]! += passedMs * state.vectorOpsPerS
    sums[3]! += passedMs * state.l2BytesPerS
    sums[4]! += passedMs * state.dramBytesPerS
    sums[5]! += passedMs * state.smUtilPercent
    sums[6]! += passedMs * state.memUtilPercent
    sums[7]! += passedMs * this.#throughput
  }

  #closeWindow(): void {
    const durationMs = this.#nowMs - this.#windowStartMs
    if (durationMs <= 0) return
    const mean = (i: number) => this.#sums[i]! / durationMs
    this.mean = {
      tenants: [],
      throughput: mean(7),
      busySms: mean(0),
      flopPerS: mean(1),
      vectorOpsPerS: mean(2),
      l2BytesPerS: mean(3),
      dramBytesPerS: mean(4),
      smUtilPercent: mean(5),
      memUtilPercent: mean(6),
    }
  }

  #indexOf(name: string): number {
    const index = this.#services.findIndex(({ service }) => service.name === name)
    if (index < 0) throw new InvalidInputError('service', name, `one of ${this.serviceNames.join(', ')}`)
    return index
  }
}

function isFree({ size, draining, process }: BatchSlot): boolean {
  return size === 0 && !draining && !process.hung && !process.wantsBatchSize
}
