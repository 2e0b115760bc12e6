import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { assertFaultScenario, type Fault, type FaultKind, type FaultScenario } from './fault-scenario.js'

type FaultOf<Kind extends FaultKind> = Extract<Fault, { readonly kind: Kind }>

/** A fault that has struck. */
export interface StruckFault {
  readonly kind: FaultKind
  /** On the board's clock, ms. */
  readonly timeMs: number
  /** Id of the process that it struck; null where it strikes none, or found none alive. */
  readonly processId: number | null
}

interface Edge {
  readonly timeMs: number
  readonly fault: Fault
  readonly begins: boolean
}

/** Tells which faults begin and end as time passes, and which are on. */
export class FaultSchedule {
  readonly #edges: Edge[] = []
  readonly #random: SeededRandom
  readonly #active: Fault[] = []
  #next = 0

  /**
   * @param startMs time to which the scenario's times are relative, ms
   * @throws InvalidInputError for a scenario that is not one
   */
  constructor(scenario: FaultScenario, startMs: number) {
    assertFaultScenario(scenario)
    const { faults, seed = 1, jitterMs = 0 } = scenario
    this.#random = new SeededRandom(seedFrom('faults', seed))
    for (const fault of faults) this.#plan(fault, startMs + fault.atMs + jitterMs * this.#random.uniform())
  }

  /**
   * One more fault; all edges that are due must have been taken.
   *
   * @param nowMs time to which its own is relative, ms
   * @throws InvalidInputError for a fault that is not one
   */
  add(fault: Fault, nowMs: number): void {
    assertFaultScenario({ faults: [fault] })
    this.#plan(fault, nowMs + fault.atMs)
  }

  /** The next edge that is due, or undefined. */
  next(nowMs: number): Edge | undefined {
    const edge = this.#edges[this.#next]
    if (!edge || edge.timeMs > nowMs) return undefined
    this.#next++
    if (edge.begins) this.#active.push(edge.fault)
    else this.#active.splice(this.#active.indexOf(edge.fault), 1)
    return edge
  }

  /** The latest fault of a kind that is on. */
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
    // Stable, so edges that were taken stay in front.
    this.#edges.sort((a, b) => a.timeMs - b.timeMs)
  }

  /** One of `count`, drawn. */
  draw(count: number): number {
    return this.#random.integer(count)
  }
}
