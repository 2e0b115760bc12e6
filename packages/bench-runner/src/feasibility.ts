import { lowestFeasibleCap } from '@pctodl/greedy-partition'
import { findGpuSpec, InfeasibleCapError, networkName } from '@pctodl/platform'
import { predictorOf } from './predictors.js'
import type { BenchTask } from './tasks.js'

/**
 * Refuse caps that no configuration of the board can keep, before anything runs.
 *
 * @throws InfeasibleCapError naming the lowest cap that can be kept
 */
export function assertCapsFeasible(tasks: readonly BenchTask[], parametersFolder?: string): void {
  for (const task of tasks) {
    const model = networkName(task.model)
    const lowest = lowestFeasibleCap(predictorOf(task.board, parametersFolder), { models: model })
    for (const capW of task.schedule?.capsW ?? [task.powerCapW!]) {
      if (lowest !== null && capW < lowest) {
        throw new InfeasibleCapError(capW, lowest, `${model} on ${findGpuSpec(task.board).name} (task ${task.id})`)
      }
    }
  }
}
