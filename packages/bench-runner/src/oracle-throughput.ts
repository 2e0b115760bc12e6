import { existsSync } from 'node:fs'
import path from 'node:path'
import { jsonText, readJson, writeFileAtomically } from '@pctodl/command-line'
import { findOracle, type Oracle, type OracleOptions, SimulatedGpu } from '@pctodl/gpu-sim'
import { mean } from '@pctodl/numerics'
import { type Configuration, groupBy, InfeasibleCapError, networkName, VirtualClock } from '@pctodl/platform'
import { z } from 'zod'
import type { Cell } from './cell.js'
import { latencyObjectives } from './demands.js'
import { boardSeed } from './open-board.js'
import { type BenchTask, boardName, capsWOf, taskFileStem } from './tasks.js'

/**
 * The search tries all shares in steps of 20 % and refines the best to 5 %, the step of plans. It takes about a second
 * per cap.
 */
const SEARCH = { sharePercentStep: 20, finestSharePercentStep: 5, starts: 8, betweenClocks: true } as const

/** Batch sizes that are tried. */
const BATCH_SIZES = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256]

/** Text of the report that explains how the oracle was found. */
export const oracleExplanation: string =
  "The oracle is the best static configuration that a search over the simulator's truth finds on the boards of the runs, once warm (shares in steps of " +
  `${SEARCH.sharePercentStep} %, the best refined to ${SEARCH.finestSharePercentStep} %), with a clock between two states where the ` +
  'cap lies between them. On further boards of a task the search stays near the batches and at the memory clock of the first, which finds ' +
  'within 0.6 % of a whole search. It knows one network and no latency objective: other tasks have none.'

/** Key of a task by its content, because each manifest creates a task object of its own. */
export const oracleKey = (task: BenchTask): string => `${task.board}_${taskFileStem(task)}`

/** A cell on a simulated board, whose task has no services. */
export type OracleCell = Pick<Cell, 'seed' | 'variant'> & { readonly task: BenchTask }

/**
 * Returns the true throughput of the best static configuration on the simulated boards of the runs. No policy is
 * expected to exceed it. Caps are in the watts of each board's own sensor. The value is the mean over the boards and,
 * under a changing cap, over its caps, which all apply for the same time. It is cached in `oracle.json` of the result
 * folder.
 *
 * @returns samples/s by `oracleKey`; null if no configuration holds a cap, for mixes, and for latency objectives
 */
export function oracleThroughput(cells: readonly OracleCell[], resultDir: string): Map<string, number | null> {
  const file = path.join(resultDir, 'oracle.json')
  const known = existsSync(file) ? readJson<KnownBests>(knownBests, file, 'an earlier oracle; delete the file') : {}
  /** Search range around the first board's best configuration, by board type, network and cap. */
  const near = new Map<string, Pick<OracleOptions, 'batchSizes' | 'memClocksMhz' | 'starts'>>()
  const best = (cell: OracleCell, capW: number) => {
    const { task, seed } = cell
    const ofTask = `${task.board} ${task.model} ${capW}`
    const keyOf = (options: OracleOptions) =>
      `${boardName(cell)} seed ${seed} ${task.model} ${capW} W, ${JSON.stringify(options)}`
    const options = keyOf(SEARCH) in known ? SEARCH : { ...SEARCH, ...near.get(ofTask) }
    const key = keyOf(options)
    if (!(key in known)) {
      const found = bestWithin(cell, trueWatts(cell, capW), options)
      known[key] = found && { throughput: found.throughput, ...nearby(found.configuration) }
    }
    const value = known[key]
    if (value && !near.has(ofTask)) {
      near.set(ofTask, { batchSizes: value.batchSizes, memClocksMhz: value.memClocksMhz, starts: 4 })
    }
    return value?.throughput ?? null
  }
  const found = [...groupBy(cells, ({ task }) => oracleKey(task))].map(([key, ofTask]): [string, number | null] => {
    const { task } = ofTask[0]!
    if (task.mix || latencyObjectives(task)) return [key, null]
    // Each board counts once, although several algorithms ran on it.
    const boards = groupBy(ofTask, (cell) => `${boardName(cell)} ${cell.seed}`)
    const all = [...boards.values()].flatMap(([cell]) => capsWOf(task).map((capW) => best(cell!, capW)))
    return [key, all.includes(null) ? null : mean(all as number[])]
  })
  writeFileAtomically(file, jsonText(known))
  return new Map(found)
}

/** Best configurations by board, seed, network, cap and search; null if none holds the cap. */
const knownBests = z.record(
  z.string(),
  z.object({ throughput: z.number(), batchSizes: z.array(z.number()), memClocksMhz: z.array(z.number()) }).nullable(),
)
type KnownBests = z.infer<typeof knownBests>

/** The memory clock of a configuration, and the batch sizes within two steps of its own. */
function nearby({ tenants, memClockMhz }: Configuration): { batchSizes: number[]; memClocksMhz: number[] } {
  const used = new Set(tenants.map(({ batchSize }) => BATCH_SIZES.indexOf(batchSize)))
  const batchSizes = BATCH_SIZES.filter((_, i) => [...used].some((index) => Math.abs(index - i) <= 2))
  return { batchSizes, memClocksMhz: [memClockMhz] }
}

/** A cap in the watts of a board's own sensor as true watts. */
export function trueWatts(cell: OracleCell, capW: number): number {
  return new SimulatedGpu(boardName(cell), { clock: new VirtualClock(), seed: boardSeed(cell) }).trueWatts(capW)
}

function bestWithin(cell: OracleCell, trueCapW: number, options: OracleOptions): Oracle | null {
  try {
    return findOracle(boardName(cell), networkName(cell.task.model), trueCapW, options)
  } catch (error) {
    if (error instanceof InfeasibleCapError) return null
    throw error
  }
}
