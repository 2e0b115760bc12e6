import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { findOracle } from '@pctodl/gpu-sim'
import { InfeasibleCapError, networkName, VirtualClock } from '@pctodl/platform'
import { boardName } from './board-name.js'
import type { Cell } from './cell.js'
import { latencyObjectives } from './latency-objective.js'
import { simulatedGpu } from './open-board.js'
import type { BenchTask } from './tasks.js'

/**
 * Steps of the shares that are all tried, and to which the best of them are refined, percent: as fine as plans are, and about a
 * second a cap.
 */
const SEARCH = { sharePercentStep: 20, finestSharePercentStep: 5, starts: 8, betweenClocks: true } as const

/** How the oracle was found, as the report says it. */
export const oracleExplanation: string =
  "The oracle is the best static configuration that a search over the simulator's truth finds on the very boards of the runs, once warm (shares in steps of " +
  `${SEARCH.sharePercentStep} %, the best refined to ${SEARCH.finestSharePercentStep} %), with a clock between two states where the ` +
  'cap lies between them. It knows one network and no latency objective: other tasks have none.'

/** Mean throughput of the best static configurations under a task's caps, samples/s; null where no configuration keeps one. */
export type OracleThroughput = ReadonlyMap<BenchTask, number | null>

/** The simulated board that a cell ran on, and a task without services. */
export type OracleCell = Pick<Cell, 'seed' | 'variant'> & { readonly task: BenchTask }

/**
 * What the best static configuration would give on the simulated boards that ran, found by looking at the simulator's truth: the
 * line that no policy is expected to pass. In the watts of each board's own sensor, in which caps are set; the mean over the boards,
 * and under a changing cap over the caps by their time. Kept in `oracle.json` of the result folder, since it is the same for
 * every report.
 */
export function oracleThroughput(cells: readonly OracleCell[], resultDir: string): OracleThroughput {
  const file = path.join(resultDir, 'oracle.json')
  const known: Record<string, number | null> = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  const best = (cell: OracleCell, capW: number) => {
    const { task, seed } = cell
    const key = `${boardName(cell)} seed ${seed} ${task.model} ${capW} W, ${JSON.stringify(SEARCH)}`
    if (!(key in known)) {
      const trueCapW = simulatedGpu(cell, new VirtualClock()).trueWatts(capW)
      known[key] = bestWithin(boardName(cell), task.model, trueCapW)
    }
    return known[key] ?? null
  }
  const values = new Map<BenchTask, (number | null)[]>()
  for (const cell of cells) {
    const { task } = cell
    const caps = task.schedule ? task.schedule.capsW : [task.powerCapW!]
    const ofBoard = task.mix || latencyObjectives(task) ? [null] : caps.map((capW) => best(cell, capW))
    values.set(task, [...(values.get(task) ?? []), ...ofBoard])
  }
  writeFileAtomically(file, `${JSON.stringify(known, null, 2)}\n`)
  return new Map([...values].map(([task, all]) => [task, all.includes(null) ? null : meanOf(all as number[])]))
}

const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

function bestWithin(board: string, model: string, trueCapW: number): number | null {
  try {
    return findOracle(board, networkName(model), trueCapW, SEARCH).throughput
  } catch (error) {
    if (error instanceof InfeasibleCapError) return null
    throw error
  }
}
