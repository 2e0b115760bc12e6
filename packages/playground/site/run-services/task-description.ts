import { type ServerTask, serverTasks } from '@pctodl/bench-runner/server'
import type { CapFrom } from '../run/run-question.js'
import type { AskedService } from '../services/asked-service.js'

/** A task of `bench-runner --set services`, as a page shows it. */
export interface TaskDescription {
  readonly id: number
  readonly name: string
  readonly board: string
  /** What happens, in a few words. */
  readonly what: string
  readonly caps: readonly CapFrom[]
  readonly durationS: number
  /** With their mean rates. */
  readonly services: readonly AskedService[]
}

/** Every task of every board. */
export function describeTasks(): readonly TaskDescription[] {
  return serverTasks.map(describeTask)
}

function describeTask({ id, name, board, what, caps, durationS, services }: ServerTask): TaskDescription {
  return {
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
  }
}
