/** Runs cases in worker processes. This file is also the program of a worker. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { runScenario, type ScenarioPolicy, type ScenarioResult } from './run-scenario.js'
import type { Scenario } from './scenarios.js'

interface ScenarioOrder {
  readonly scenario: Scenario
  readonly policies: readonly ScenarioPolicy[]
  readonly limitFactor: number | null
}

/**
 * Deals the cases out to worker processes.
 *
 * @returns the results in the order of the cases
 * @throws Error if a worker exits early
 */
export async function runInWorkers(orders: readonly ScenarioOrder[], workers: number): Promise<ScenarioResult[]> {
  const parts = Array.from({ length: workers }, async (_, w): Promise<ScenarioResult[][]> => {
    const worker = fork(import.meta.filename, { execArgv: process.execArgv })
    worker.send(orders.filter((_, i) => i % workers === w))
    const [answer] = await Promise.race([once(worker, 'message'), once(worker, 'exit')])
    if (!Array.isArray(answer)) throw new Error(`a worker ended with code ${answer}`)
    return answer
  })
  const answers = await Promise.all(parts)
  return orders.flatMap((_, i) => answers[i % workers]![Math.floor(i / workers)]!)
}

async function run(orders: readonly ScenarioOrder[]): Promise<void> {
  const answers: ScenarioResult[][] = []
  for (const { scenario, policies, limitFactor } of orders) {
    await setImmediate()
    // The program that would use the answers has ended.
    if (!process.connected) return
    const results: ScenarioResult[] = []
    for (const policy of policies) results.push(await runScenario(scenario, policy, limitFactor))
    answers.push(results)
    if (answers.length % 10 === 0) process.stderr.write(`${answers.length}/${orders.length}\n`)
  }
  process.send!(answers, () => process.disconnect())
}

if (process.argv[1] === import.meta.filename) process.once('message', (orders: ScenarioOrder[]) => void run(orders))
