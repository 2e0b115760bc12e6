import { type Signal, signal } from '@preact/signals'
import { RunRoomState } from '../run/run-room-state.js'
import type { KnownBoards } from '../work/known-boards.js'
import type { WorkerThread } from '../work/worker-thread.js'
import type { ServicesRunQuestion } from './services-run-question.js'
import { servicesRuns } from './services-runs.js'
import type { TaskDescription } from './task-description.js'

/** State of the room that runs services. */
export class ServicesRunState extends RunRoomState<ServicesRunQuestion> {
  /** Tasks of `bench-runner --set services`; empty until the worker reports them. */
  readonly tasks: Signal<readonly TaskDescription[]>

  constructor(question: Signal<ServicesRunQuestion>, known: KnownBoards) {
    const tasks = signal<readonly TaskDescription[]>([])
    super(
      question,
      known,
      servicesRuns(() => tasks.value),
    )
    this.tasks = tasks
  }

  async start(worker: WorkerThread): Promise<void> {
    this.tasks.value = await worker.call('tasks', null)
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
