import { type MigInstanceInfo, type NvmlDevice, NvmlError } from '@pctodl/nvml-control'

/** Whoever asks again within this time gets the same answer, ms: it takes the driver a dozen calls. */
const FRESH_MS = 250

/** The MIG instances of a board, as they are now: the operator may divide it at any time. */
export class Instances {
  readonly #device: NvmlDevice
  #known: readonly MigInstanceInfo[] = []
  #isDivided = false
  #readAtMs = Number.NEGATIVE_INFINITY

  constructor(device: NvmlDevice) {
    this.#device = device
  }

  /** Whether the board is in MIG mode: then it is no place to work by itself, instances or not. */
  get isDivided(): boolean {
    this.#read()
    return this.#isDivided
  }

  /** What is known last, where the driver does not answer. */
  get all(): readonly MigInstanceInfo[] {
    this.#read()
    return this.#known
  }

  find(uuid: string): MigInstanceInfo | undefined {
    return this.all.find((each) => each.uuid === uuid)
  }

  #read(): void {
    const nowMs = performance.now()
    if (nowMs - this.#readAtMs < FRESH_MS) return
    this.#readAtMs = nowMs
    try {
      const state = this.#device.mig()
      this.#isDivided = state?.enabled ?? false
      this.#known = state?.instances ?? []
    } catch (error) {
      // The board is lost, or the driver gone; that is found out elsewhere.
      if (!(error instanceof NvmlError)) throw error
    }
  }
}
