import { serverTasks } from '@pctodl/bench-runner/server'
import type { CapFrom } from '../run/run-question.js'
import type { AskedService } from '../services/asked-service.js'

/** The properties of a task of `bench-runner --set services` that the page shows. */
export interface TaskDescription {
  readonly id: number
  readonly name: string
  readonly board: string
  /** Short description of the task. */
  readonly what: string
  readonly caps: readonly CapFrom[]
  readonly durationS: number
  /** The services with their mean request rates. */
  readonly services: readonly AskedService[]
}

/** All tasks of all boards. */
export const tasks: readonly TaskDescription[] = serverTasks.map(
  ({ id, name, board, what, caps, durationS, services }) => ({
    id,
    name,
    board,
    what,
    durationS,
    caps: caps.map(({ atMs, powerCapW }) => ({ atS: atMs / 1000, powerCapW })),
    services: services.map(({ service: { objective, ...rest }, meanPerS }) => ({
      ...rest,
      ...objective,
      ratePerS: meanPerS,
    })),
  }),
)
