import { lowestFeasibleCap } from '@pctodl/greedy-partition'
import { findGpuSpec, InfeasibleCapError, PctodlError } from '@pctodl/platform'
import { servedBy } from './algorithms.js'
import { capsWOf, isServed, type Task } from './tasks.js'

/**
 * Refuse caps that no configuration of the board can meet, before anything runs.
 *
 * @throws InfeasibleCapError naming the lowest cap that can be kept; PctodlError `INFEASIBLE_LATENCY` if the latency
 *   objective cannot be met under any cap
 */
export function assertCapsFeasible(tasks: readonly Task[], parametersFolder?: string): void {
  for (const task of tasks) {
    if (isServed(task)) continue
    const { predictor, models, partition } = servedBy(task, parametersFolder)
    const lowest = lowestFeasibleCap(predictor, { models, ...partition })
    if (lowest === null && task.latencyMs !== undefined) {
      throw new PctodlError(
        'INFEASIBLE_LATENCY',
        `no configuration of ${findGpuSpec(task.board).name} keeps ${task.latencyMs} ms for ${task.model} (task ${task.id}), under any cap`,
      )
    }
    for (const capW of capsWOf(task)) {
      if (lowest !== null && capW < lowest) {
        throw new InfeasibleCapError(capW, lowest, `${task.model} on ${findGpuSpec(task.board).name} (task ${task.id})`)
      }
    }
  }
}
