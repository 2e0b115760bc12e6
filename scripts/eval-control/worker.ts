/** Runs whole tasks for `eval-control.ts`: a message in is a task, a message out are its results. */
import { benchTasks } from '../../packages/bench-runner/src/tasks.js'
import { disturbances, undisturbed } from './disturbances.js'
import { type CaseAlgorithm, type CaseResult, TaskRunner } from './run-case.js'

export interface TaskOrder {
  readonly board: string
  readonly taskId: number
  readonly algorithms: readonly CaseAlgorithm[]
  readonly seeds: readonly number[]
  readonly disturbed: boolean
}

process.on('message', (order: TaskOrder) => {
  void runOrder(order).then((results) => process.send!(results))
})

async function runOrder({ board, taskId, algorithms, seeds, disturbed }: TaskOrder): Promise<CaseResult[]> {
  const task = benchTasks.find((candidate) => candidate.board === board && candidate.id === taskId)!
  const runner = new TaskRunner(task)
  const results: CaseResult[] = []
  for (const seed of seeds) {
    for (const algorithm of algorithms) {
      const cases = [undisturbed, ...(disturbed && algorithm === 'pctodl' ? disturbances(task.schedule !== null) : [])]
      for (const disturbance of cases) results.push(await runner.run(algorithm, disturbance, seed))
    }
  }
  return results
}
