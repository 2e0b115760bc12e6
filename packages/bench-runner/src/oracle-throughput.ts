import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { findOracle } from '@pctodl/gpu-sim'
import { networkName } from '@pctodl/platform'
import type { BenchTask } from './tasks.js'

/** Share step of the oracle in reports, percent: 10 takes about a second a cap and finds at most a few percent more. */
const ORACLE_SHARE_STEP = 20

/** How the oracle was found, as the report says it. */
export const oracleExplanation: string =
  "The oracle is the best static configuration that a search over the simulator's truth finds (shares in steps of " +
  `${ORACLE_SHARE_STEP} %); a plan with finer shares can pass it a little.`

/** Mean throughput of the best static configurations under a task's caps, samples/s; null where no configuration keeps one. */
export type OracleThroughput = ReadonlyMap<BenchTask, number | null>

/**
 * What the best static configuration would give on the simulated board, found by looking at the simulator's truth: the
 * line that no policy is expected to pass by much. Under a changing cap, the mean over the caps by their time. Kept in
 * `oracle.json` of the result folder, since it is the same for every report.
 */
export function oracleThroughput(tasks: readonly BenchTask[], resultDir: string): OracleThroughput {
  const file = path.join(resultDir, 'oracle.json')
  const known: Record<string, number | null> = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  const best = (board: string, model: string, capW: number) => {
    const key = `${board} ${model} ${capW} W, share step ${ORACLE_SHARE_STEP} %`
    if (!(key in known)) {
      known[key] =
        findOracle(board, networkName(model), capW, { sharePercentStep: ORACLE_SHARE_STEP })?.throughput ?? null
    }
    return known[key] ?? null
  }
  const found = new Map<BenchTask, number | null>()
  for (const task of tasks) {
    const caps = task.schedule ? task.schedule.capsW : [task.powerCapW!]
    const values = caps.map((capW) => best(task.board, task.model, capW))
    found.set(task, values.includes(null) ? null : (values as number[]).reduce((a, b) => a + b, 0) / values.length)
  }
  writeFileAtomically(file, `${JSON.stringify(known, null, 2)}\n`)
  return found
}
