import { PctodlError } from '@pctodl/platform'
import type { RunRecord } from '@pctodl/report'
import { createServerPolicy, equalShares, lockedShares, plannedShares, type ServerPolicyName } from '@pctodl/run/policy'
import type { AlgorithmName, PolicyOptions } from './algorithms.js'
import { type Cell, instanceOf, resultSet } from './cell.js'
import { predictorOf } from './demands.js'
import type { BoardIdentity } from './manifest.js'
import { boardSeed, identityOf, openBoard } from './open-board.js'
import { runTenants } from './run-tenants.js'
import { maxLoad, steadyMix } from './services/max-load.js'
import { runServerLoad, type ServerRun } from './services/serve.js'
import { type ServerTask, serverTasksOf } from './services/service-tasks.js'
import { bestFixedClocks, bestLockedClock } from './services/services-oracle.js'
import { type BenchTask, boardName, contentOf, isServed } from './tasks.js'

/** Run one cell from a cold board. @throws what the policy and the board throw, the signal's reason */
export async function runCell(
  cell: Cell,
  signal?: AbortSignal,
): Promise<{ readonly record: RunRecord; readonly identity: BoardIdentity }> {
  const { task } = cell
  const board = await openBoard(cell)
  try {
    const identity = await identityOf(board, cell)
    const record = isServed(task) ? await serve(cell, task, signal) : await runTenants(board, { ...cell, task }, signal)
    const set = resultSet(cell)
    const labels = { ...(set === undefined ? {} : { set }), instance: instanceOf(cell) }
    return { record: { ...record, ...labels }, identity }
  } finally {
    await board.close()
  }
}

export interface RunTaskOptions extends PolicyOptions, Pick<Cell, 'iterations' | 'seed'> {
  readonly signal?: AbortSignal
}

/** Run one algorithm on one task on the simulated board, from a cold start. */
export async function runTask(
  task: BenchTask,
  algorithm: AlgorithmName,
  { signal, ...options }: RunTaskOptions,
): Promise<RunRecord> {
  const { record } = await runCell({ task, algorithm, powerMarginW: 0, shadow: false, ...options }, signal)
  return record
}

/** Factor at which a search for the highest load begins; most tasks leave that much free at their own rates. */
const FIRST_FACTOR = 2

async function serve(cell: Cell, told: ServerTask, signal?: AbortSignal): Promise<RunRecord> {
  const { algorithm, parametersFolder, loadFactor = 1 } = cell
  // Arrivals are functions and not in the JSON; the catalogue has them.
  const task = { ...serverTasksOf(told.board, [told.id])[0]!, caps: told.caps }
  const model = predictorOf(task.board, parametersFolder)
  const abort = signal ? { signal } : {}
  const where = { boardName: boardName(cell), seed: boardSeed(cell) }
  const load = { ...task, ...where, loadFactor }
  if (algorithm === 'oracle') {
    const { run } = await bestLockedClock(task, load, model, [plannedShares, equalShares], 0.99, signal)
    return recordOf(cell, task, run)
  }
  const shares = lockedShares[algorithm]
  const fixed = shares ? { fixedClocks: await bestFixedClocks(task, load, model, shares, signal) } : {}
  const create = (of: Pick<ServerTask, 'services'>, loadFactor: number) =>
    createServerPolicy(algorithm as ServerPolicyName, of, { model, loadFactor, ...fixed })
  if (!cell.maxLoad) return recordOf(cell, task, await runServerLoad(load, create(task, loadFactor), abort))
  const mix = steadyMix(task)
  const found = await maxLoad(task, (factor) => create(mix, factor), { ...where, ...abort, from: FIRST_FACTOR })
  if (!found) throw new PctodlError('NO_LOAD_HOLDS', `no load at which every service keeps its p99 and the cap holds`)
  return recordOf(cell, task, found.run, found.loadFactor)
}

function recordOf({ algorithm }: Cell, task: ServerTask, run: ServerRun, maxLoad?: number): RunRecord {
  const { services, meanPowerW, energyPerRequestJ, recorded } = run
  const { perSecond, ...measured } = recorded
  const objectiveOf = (name: string) => task.services.find(({ service }) => service.name === name)!.service.objective
  return {
    board: task.board,
    algorithm,
    taskId: task.id,
    ...contentOf(task),
    ...measured,
    samples: services.reduce((sum, { completed, late }) => sum + completed - late, 0),
    latency: services.map(({ service, p99Ms }) => ({
      model: service,
      objectiveMs: objectiveOf(service).p99Ms,
      p99Ms: p99Ms === null ? null : Math.round(1000 * p99Ms) / 1000,
    })),
    requests: {
      services: services.map(({ service, goodputPerS, attainment, objectiveMet, p99Ms, shed, failed }) => {
        return { service, goodputPerS, attainment, objectiveMet, p99Ms, shed, failed }
      }),
      meanPowerW,
      energyPerRequestJ,
      ...(maxLoad === undefined ? {} : { maxLoad }),
      perSecond,
    },
    notes: [],
  }
}
