import type { Configuration, Tenant } from '@pctodl/platform'
import type { SteadyState } from '../steady-state.js'

/**
 * Computes the steady state of tenants that all run at the same time. `SteadyStateSolver` does so; tests pass functions
 * of their own.
 */
export interface MixSolver {
  solve(configuration: Configuration): SteadyState
}

/** A process that may run batches. Processes with equal fields are interchangeable. */
export interface MixMember {
  readonly model: string
  readonly mpsPercent: number
  /**
   * Batch sizes that the process may run, ascending. Other fields refer to them by an index from 1; 0 means that the
   * process does not run.
   */
  readonly sizes: readonly number[]
}

interface Solved {
  readonly state: SteadyState
  /** Duration of a batch of each process, ms; 0 for processes that do not run. */
  readonly batchMs: Float64Array
}

/**
 * A combination of running processes and their batch sizes, with the combinations that follow when a batch begins or
 * ends.
 */
class Mix {
  readonly sizes: Uint8Array
  readonly next: (Mix | undefined)[]
  /** Solutions by clocks. */
  readonly solved: (Solved | undefined)[] = []

  constructor(sizes: Uint8Array, edges: number) {
    this.sizes = sizes
    this.next = new Array(edges)
  }
}

/** Maximum number of cached solutions. The cache is cleared when it is full. */
const MAX_SOLVED = 100_000

/**
 * The combinations of running batches that occur, as a graph: when a batch begins or ends, the engine follows an edge.
 * The steady state of each combination is computed once per pair of clocks. Combinations that differ only in which of
 * several equal processes run share one solution.
 */
export class RunningMixes {
  readonly #solver: MixSolver
  readonly #members: readonly MixMember[]
  readonly #kinds: readonly number[]
  readonly #stride: number
  readonly #clocks = new Map<number, number>()
  #mixes = new Map<string, Mix>()
  #states = new Map<string, SteadyState>()
  #mix: Mix
  #clock = 0
  #smClockMhz = 0
  #memClockMhz = 0

  constructor(solver: MixSolver, members: readonly MixMember[]) {
    this.#solver = solver
    this.#members = members
    const names = members.map(({ model, mpsPercent, sizes }) => `${model} ${mpsPercent} ${sizes.join(' ')}`)
    this.#kinds = names.map((name) => names.indexOf(name))
    this.#stride = 1 + Math.max(0, ...members.map(({ sizes }) => sizes.length))
    this.#mix = this.#find(new Uint8Array(members.length))
  }

  setClocks(smClockMhz: number, memClockMhz: number): void {
    this.#smClockMhz = smClockMhz
    this.#memClockMhz = memClockMhz
    const key = memClockMhz * 65536 + smClockMhz
    let clock = this.#clocks.get(key)
    if (clock === undefined) {
      clock = this.#clocks.size
      this.#clocks.set(key, clock)
    }
    this.#clock = clock
  }

  /**
   * Begins or ends a batch of a process.
   *
   * @param size index of the batch size, from 1; 0 ends the batch
   */
  change(member: number, size: number): void {
    const edge = member * this.#stride + size
    let mix = this.#mix.next[edge]
    if (!mix) {
      const sizes = this.#mix.sizes.slice()
      sizes[member] = size
      mix = this.#find(sizes)
      this.#mix.next[edge] = mix
    }
    this.#mix = mix
  }

  /** Steady state of the present combination at the present clocks. */
  settled(): Solved {
    let solved = this.#mix.solved[this.#clock]
    if (!solved) {
      solved = this.#solve(this.#mix.sizes)
      this.#mix.solved[this.#clock] = solved
    }
    return solved
  }

  #find(sizes: Uint8Array): Mix {
    const key = sizes.join(' ')
    let mix = this.#mixes.get(key)
    if (!mix) {
      mix = new Mix(sizes, this.#stride * this.#members.length)
      this.#mixes.set(key, mix)
    }
    return mix
  }

  #solve(sizes: Uint8Array): Solved {
    const running: number[] = []
    sizes.forEach((size, member) => {
      if (size > 0) running.push(member)
    })
    // Equal processes are sorted, so that results are the same to the last bit, whichever of them run.
    running.sort((a, b) => this.#kinds[a]! - this.#kinds[b]! || sizes[a]! - sizes[b]! || a - b)
    const key = `${this.#clock}: ${running.map((member) => `${this.#kinds[member]} ${sizes[member]}`).join(', ')}`
    let state = this.#states.get(key)
    if (!state) {
      if (this.#states.size >= MAX_SOLVED) this.#forget()
      const tenants: Tenant[] = running.map((member) => {
        const { model, mpsPercent, sizes: of } = this.#members[member]!
        return { model, mpsPercent, batchSize: of[sizes[member]! - 1]! }
      })
      state = this.#solver.solve({ tenants, smClockMhz: this.#smClockMhz, memClockMhz: this.#memClockMhz })
      this.#states.set(key, state)
    }
    const batchMs = new Float64Array(sizes.length)
    running.forEach((member, i) => {
      batchMs[member] = state.tenants[i]!.batchMs
    })
    return { state, batchMs }
  }

  #forget(): void {
    const { sizes } = this.#mix
    this.#mixes = new Map()
    this.#states = new Map()
    this.#mix = this.#find(sizes)
  }
}
