import type { ClimbSettings, Landscape } from '../climb.js'
import type { Layout } from './layout.js'
import { layoutsAround } from './layout-moves.js'
import { bestFirst, isBetter, type LayoutScorer, type Scored } from './layout-scorer.js'

export const layoutClimb: ClimbSettings = {
  starts: 4,
  finished: Infinity,
  patience: Infinity,
  patienceAfterShake: Infinity,
  shakes: 12,
}

/**
 * Search space of layouts. Layouts compare by their shortfall from the objectives, then by the cost of the goal. A move
 * is represented by the layout that it leads to.
 */
export class Layouts implements Landscape<Scored, Layout> {
  readonly #scorer: LayoutScorer

  constructor(scorer: LayoutScorer) {
    this.#scorer = scorer
  }

  movesFrom({ layout }: Scored): Layout[] {
    return layoutsAround(this.#scorer.problem, layout)
  }

  moved(_: Scored, layout: Layout): Scored | undefined {
    return this.#scorer.score(layout)
  }

  improved(from: Scored, layout: Layout): Scored | undefined {
    return this.#scorer.scoreAbove(layout, from)
  }

  isBetter(a: Scored, b: Scored): boolean {
    return isBetter(a, b)
  }

  bestFirst(a: Scored, b: Scored): number {
    return bestFirst(a, b)
  }

  /** Class of a layout: its number of processes and its memory state. */
  shape({ layout: { services, memIndex } }: Scored): string {
    return `${memIndex} ${services.reduce((sum, { count }) => sum + count, 0)}`
  }

  get evaluations(): number {
    return this.#scorer.evaluations
  }

  spent(): unknown {
    return this.#scorer.spent()
  }
}
