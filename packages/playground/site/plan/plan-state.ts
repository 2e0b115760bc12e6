import type { Signal } from '@preact/signals'
import type { KnownBoards } from '../work/known-boards.js'
import { LatestAnswer } from '../work/latest-answer.js'
import type { AskedPlan } from './asked-plan.js'

/** An activity that lasts while a room is entered. */
interface Followed {
  follow(): () => void
}

/** The state that the parts of a room need. */
export type Planning<Question extends AskedPlan> = Pick<
  PlanState<Question, unknown, Followed>,
  'question' | 'known' | 'change'
>

/** State of a planning room; it asks its worker whenever its question changes. */
export class PlanState<Question extends AskedPlan, Answer, More extends Followed> {
  readonly question: Signal<Question>
  readonly known: KnownBoards
  readonly plan: LatestAnswer<Question, Answer>
  /** Set-ups to compare the plan with, or plans under other caps. */
  readonly more: More

  constructor(
    question: Signal<Question>,
    known: KnownBoards,
    ask: (question: Question) => Promise<Answer>,
    more: More,
  ) {
    this.question = question
    this.known = known
    this.plan = new LatestAnswer(question, ask)
    this.more = more
  }

  /** Answer until the room is left. */
  enter(): () => void {
    const leave = [this.plan.follow(), this.more.follow()]
    return () => {
      for (const one of leave) one()
    }
  }

  change(part: Partial<Question>): void {
    this.question.value = { ...this.question.peek(), ...part }
  }
}
