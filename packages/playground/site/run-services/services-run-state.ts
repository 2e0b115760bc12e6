import type { Signal } from '@preact/signals'
import { RunRoomState } from '../run/run-room-state.js'
import type { KnownBoards } from '../work/known-boards.js'
import type { ServicesRunQuestion } from './services-run-question.js'
import { servicesRuns } from './services-runs.js'

/** State of the room that runs services. */
export class ServicesRunState extends RunRoomState<ServicesRunQuestion> {
  constructor(question: Signal<ServicesRunQuestion>, known: KnownBoards) {
    super(question, known, servicesRuns)
  }

  /** Triples the requests of every service for the length of a burst, from the same time in all runs. */
  burst(): void {
    this.act('burst', (atS) => {
      const question = this.question.peek()
      this.question.value = { ...question, bursts: [...question.bursts, atS] }
      return { burst: atS }
    })
  }
}
