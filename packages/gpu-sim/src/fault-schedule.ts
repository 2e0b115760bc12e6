import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { assertFaultScenario, type Fault, type FaultKind, type FaultScenario } from './fault-scenario.js'

type FaultOf<Kind extends FaultKind> = Extract<Fault, { readonly kind: Kind }>

/** A fault that has occurred. */
export interface StruckFault {
  readonly kind: FaultKind
  /** Time at which the fault occurred, on the board's clock, ms. */
  readonly timeMs: number
  /** Id of the affected process; null if the fault affects no process, or if none was alive. */
  readonly processId: number | null
}

interface Edge {
  readonly timeMs: number
  readonly fault: Fault
  readonly begins: boolean
}

/** Reports which faults begin and end as time passes, and which are active. */
export class FaultSchedule {
  readonly #edges: Edge[] = []
  readonly #random: SeededRandom
  readonly #active: Fault[] = []
  #next = 0

  /**
   * @param startMs time from which the times of the scenario count, ms
   * @throws InvalidInputError for an invalid scenario
   */
  constructor(scenario: FaultScenario, startMs: number) {
    assertFaultScenario(scenario)
    const { faults, seed = 1, jitterMs = 0 } = scenario
    this.#random = new SeededRandom(seedFrom('faults', seed))
    for (const fault of faults) this.#plan(fault, startMs + fault.atMs + jitterMs * this.#random.uniform())
  }

  /**
   * Adds a fault. Before, the caller must take all begins and ends that are due (see `next`).
   *
   * @param nowMs time from which the fault's `atMs` counts, ms
   * @throws InvalidInputError for an invalid fault
   */
  add(fault: Fault, nowMs: number): void {
    assertFaultScenario({ faults: [fault] })
    this.#plan(fault, nowMs + fault.atMs)
  }

  /** Returns the next begin or end of a fault that is due; undefined if none is due. */
  next(nowMs: number): Edge | undefined {
    const edge = this.#edges[this.#next]
    if (!edge || edge.timeMs > nowMs) return undefined
    this.#next++
    if (edge.begins) this.#active.push(edge.fault)
    else this.#active.splice(this.#active.indexOf(edge.fault), 1)
    return edge
  }

  /** Returns the active fault of a kind; if there are several, the one that began last. */
  active<Kind extends FaultKind>(kind: Kind, accepts?: (fault: FaultOf<Kind>) => boolean): FaultOf<Kind> | undefined {
    return this.#active.findLast(
      (fault): fault is FaultOf<Kind> => fault.kind === kind && (accepts?.(fault as FaultOf<Kind>) ?? true),
    )
  }

  #plan(fault: Fault, beginMs: number): void {
    this.#edges.push({ timeMs: beginMs, fault, begins: true })
    if ('durationMs' in fault && fault.durationMs !== undefined) {
      this.#edges.push({ timeMs: beginMs + fault.durationMs, fault, begins: false })
    }
    // The sort is stable, so begins and ends that were already taken stay in front.
    this.#edges.sort((a, b) => a.timeMs - b.timeMs)
  }

  /** Random index below `count`. */
  draw(count: number): number {
    return this.#random.integer(count)
  }
}
