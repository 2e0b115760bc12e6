import type { Signal } from '@preact/signals'
import type { KnownBoards } from '../work/known-boards.js'
import { LatestAnswer } from '../work/latest-answer.js'
import type { AskedPlan } from './asked-plan.js'

/** An activity that runs only while its room is shown. */
interface Followed {
  follow(): () => void
}

/** The part of the state that the forms of a room need. */
export type Planning<Question extends AskedPlan> = Pick<
  PlanState<Question, unknown, Followed>,
  'question' | 'known' | 'change'
>

/** State of a planning room. It asks the worker for a new plan whenever the question changes. */
export class PlanState<Question extends AskedPlan, Answer, More extends Followed> {
  readonly plan: LatestAnswer<Question, Answer>

  constructor(
    readonly question: Signal<Question>,
    readonly known: KnownBoards,
    ask: (question: Question) => Promise<Answer>,

    /** Further results of the question: configurations to compare with the plan, or plans under other caps. */
    readonly more: More,
  ) {
    this.plan = new LatestAnswer(question, ask)
  }

  /** Keeps the answers up to date until the returned function is called. */
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
