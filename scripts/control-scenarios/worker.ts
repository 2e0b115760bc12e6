/** Runs cases in worker processes. This file is also the program of a worker. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { runScenario, type ScenarioPolicy, type ScenarioResult } from './run-scenario.js'
import type { Scenario } from './scenarios.js'

interface ScenarioOrder {
  readonly scenario: Scenario
  readonly policies: readonly ScenarioPolicy[]
  readonly limitFactor: number | null
}

/**
 * Distributes cases over worker processes. Each worker gets one case at a time.
 *
 * @returns the results in the order of the cases
 * @throws Error if a worker exits
 */
export async function runInWorkers(orders: readonly ScenarioOrder[], workers: number): Promise<ScenarioResult[]> {
  const answers: ScenarioResult[][] = []
  let next = 0
  const work = async () => {
    const worker = fork(import.meta.filename, { execArgv: process.execArgv })
    try {
      while (next < orders.length) {
        const i = next++
        answers[i] = await answerOf(worker, orders[i]!)
        if (next % 20 === 0) process.stderr.write(`${next}/${orders.length}\n`)
      }
    } finally {
      worker.kill()
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  return answers.flat()
}

async function answerOf(worker: ChildProcess, order: ScenarioOrder): Promise<ScenarioResult[]> {
  const answered = new AbortController()
  const { signal } = answered
  worker.send(order)
  try {
    return await Promise.race([
      once(worker, 'message', { signal }).then(([results]) => results),
      once(worker, 'exit', { signal }).then(([code]) => {
        throw new Error(`a worker ended with code ${code} in ${JSON.stringify(order)}`)
      }),
    ])
  } finally {
    answered.abort()
  }
}

async function run({ scenario, policies, limitFactor }: ScenarioOrder): Promise<ScenarioResult[]> {
  const results: ScenarioResult[] = []
  for (const policy of policies) results.push(await runScenario(scenario, policy, limitFactor))
  return results
}

if (process.argv[1] === import.meta.filename) {
  process.on('message', (order: ScenarioOrder) => void run(order).then((results) => process.send!(results)))
}
