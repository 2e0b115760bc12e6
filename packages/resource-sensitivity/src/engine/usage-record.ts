/** Means over a period: fractions of the whole cluster (0..1), and the number of waiting jobs. */
export interface MeanUsage {
  readonly gpu: number
  readonly cpu: number
  readonly memory: number
  readonly waiting: number
}

/** Integrates the held GPUs, CPU and memory over time. */
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
  readonly #sums = { gpu: 0, cpu: 0, memory: 0, waiting: 0 }
  #nowS: number

  constructor(totals: { gpus: number; cpus: number; memoryGb: number }, startS: number) {
    this.#totals = totals
    this.#startS = startS
    this.#nowS = startS
  }

  advance(toS: number): void {
    const durationS = toS - this.#nowS
    if (durationS <= 0) return
    if (this.waiting > 0) this.idleWhileWaitingGpuS += (this.#totals.gpus - this.heldGpus) * durationS
    this.spreadGpuS += this.spreadGpus * durationS
    this.#sums.gpu += this.heldGpus * durationS
    this.#sums.cpu += this.heldCpus * durationS
    this.#sums.memory += this.heldMemoryGb * durationS
    this.#sums.waiting += this.waiting * durationS
    this.#nowS = toS
  }

  /** Over the whole run. */
  means(): MeanUsage {
    const durationS = Math.max(this.#nowS - this.#startS, Number.MIN_VALUE)
    const { gpus, cpus, memoryGb } = this.#totals
    return {
      gpu: this.#sums.gpu / (gpus * durationS),
      cpu: this.#sums.cpu / (cpus * durationS),
      memory: this.#sums.memory / (memoryGb * durationS),
      waiting: this.#sums.waiting / durationS,
    }
  }
}
