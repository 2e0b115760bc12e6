import { SeededRandom, seedFrom } from '@pctodl/platform'
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
  readonly #edges: readonly Edge[]
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
    const edges: Edge[] = []
    for (const fault of faults) {
      const beginMs = startMs + fault.atMs + jitterMs * this.#random.uniform()
      edges.push({ timeMs: beginMs, fault, begins: true })
      if ('durationMs' in fault && fault.durationMs !== undefined) {
        edges.push({ timeMs: beginMs + fault.durationMs, fault, begins: false })
      }
    }
    this.#edges = edges.sort((a, b) => a.timeMs - b.timeMs)
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

  /** One of `count`, drawn. */
  draw(count: number): number {
    return this.#random.integer(count)
  }
}
