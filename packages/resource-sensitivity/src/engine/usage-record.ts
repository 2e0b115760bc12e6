/** Mean use of the cluster over one stretch of time. Shares are 0..1 of the whole cluster. */
export interface UsageBin {
  readonly startS: number
  readonly endS: number
  readonly gpu: number
  readonly cpu: number
  readonly memory: number
  readonly waiting: number
}

/** Kept at most; when more are needed, neighbours are joined. */
const MAX_BINS = 512

/** GPU, CPU, memory, waiting: the order of values within a bin. */
const WIDTH = 4

/** Integrates what is held, exactly, and keeps a timeline whose resolution adapts to the length of the run. */
export class UsageRecord {
  heldGpus = 0
  heldCpus = 0
  heldMemoryGb = 0
  spreadGpus = 0
  waiting = 0
  /** Integrals over time, in GPU-seconds. */
  idleWhileWaitingGpuS = 0
  spreadGpuS = 0
  readonly #totals: { readonly gpus: number; readonly cpus: number; readonly memoryGb: number }
  readonly #startS: number
  readonly #bins = new Float64Array(MAX_BINS * WIDTH)
  readonly #sums = new Float64Array(WIDTH)
  #binS: number
  #nowS: number

  constructor(totals: { gpus: number; cpus: number; memoryGb: number }, startS: number, binS: number) {
    this.#totals = totals
    this.#startS = startS
    this.#nowS = startS
    this.#binS = binS
  }

  advance(toS: number): void {
    const durationS = toS - this.#nowS
    if (durationS <= 0) return
    if (this.waiting > 0) this.idleWhileWaitingGpuS += (this.#totals.gpus - this.heldGpus) * durationS
    this.spreadGpuS += this.spreadGpus * durationS
    const values = [this.heldGpus, this.heldCpus, this.heldMemoryGb, this.waiting] as const
    for (let v = 0; v < WIDTH; v++) this.#sums[v]! += values[v]! * durationS
    while (toS > this.#startS + this.#binS * MAX_BINS) this.#join()
    let fromS = this.#nowS
    while (fromS < toS) {
      const bin = Math.min(MAX_BINS - 1, Math.floor((fromS - this.#startS) / this.#binS))
      const untilS = bin === MAX_BINS - 1 ? toS : Math.min(toS, this.#startS + (bin + 1) * this.#binS)
      const partS = untilS - fromS
      // Rounding can put a start a hair before its bin's end.
      if (partS <= 0) break
      for (let v = 0; v < WIDTH; v++) this.#bins[bin * WIDTH + v]! += values[v]! * partS
      fromS = untilS
    }
    this.#nowS = toS
  }

  /** Mean shares over the whole run, 0..1. */
  means(): { gpu: number; cpu: number; memory: number; waiting: number } {
    const durationS = Math.max(this.#nowS - this.#startS, Number.MIN_VALUE)
    const [gpu, cpu, memory, waiting] = this.#sums as unknown as [number, number, number, number]
    const { gpus, cpus, memoryGb } = this.#totals
    return {
      gpu: gpu / (gpus * durationS),
      cpu: cpu / (cpus * durationS),
      memory: memory / (memoryGb * durationS),
      waiting: waiting / durationS,
    }
  }

  timeline(): UsageBin[] {
    const { gpus, cpus, memoryGb } = this.#totals
    const count = Math.ceil((this.#nowS - this.#startS) / this.#binS)
    return Array.from({ length: Math.min(count, MAX_BINS) }, (_, bin) => {
      const startS = this.#startS + bin * this.#binS
      const endS = Math.min(startS + this.#binS, this.#nowS)
      const durationS = endS - startS
      const at = bin * WIDTH
      return {
        startS,
        endS,
        gpu: this.#bins[at]! / (gpus * durationS),
        cpu: this.#bins[at + 1]! / (cpus * durationS),
        memory: this.#bins[at + 2]! / (memoryGb * durationS),
        waiting: this.#bins[at + 3]! / durationS,
      }
    })
  }

  #join(): void {
    for (let bin = 0; bin < MAX_BINS; bin++) {
      for (let v = 0; v < WIDTH; v++) {
        const pair = this.#bins[2 * bin * WIDTH + v]! + this.#bins[(2 * bin + 1) * WIDTH + v]!
        this.#bins[bin * WIDTH + v] = bin < MAX_BINS / 2 ? pair : 0
      }
    }
    this.#binS *= 2
  }
}
