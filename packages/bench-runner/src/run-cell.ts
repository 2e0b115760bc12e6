import { given, PctodlError } from '@pctodl/platform'
import type { RunRecord } from '@pctodl/report'
import { createServerPolicy, equalShares, lockedShares, plannedShares, type ServerPolicyName } from '@pctodl/run/policy'
import type { AlgorithmName, PolicyOptions } from './algorithms.js'
import { type Cell, instanceOf, resultSet } from './cell.js'
import { predictorOf } from './demands.js'
import type { Manifest } from './manifest.js'
import { boardSeed, identityOf, openBoard } from './open-board.js'
import { runTenants } from './run-tenants.js'
import { maxLoad } from './services/max-load.js'
import { runServerLoad, type ServerRun } from './services/serve.js'
import { type ServerTask, serverTasksOf } from './services/service-tasks.js'
import { bestLockedClock } from './services/services-oracle.js'
import { type BenchTask, boardName, contentOf, isServed } from './tasks.js'

/**
 * Runs one cell from a cold board.
 *
 * @throws errors of the policy and of the board; the reason of `signal` if it is aborted
 */
export async function runCell(
  cell: Cell,
  signal?: AbortSignal,
): Promise<{ readonly record: RunRecord; readonly identity: Manifest['board'] }> {
  const { task } = cell
  const board = await openBoard(cell)
  try {
    const identity = await identityOf(board, cell)
    const record = isServed(task) ? await serve(cell, task, signal) : await runTenants(board, { ...cell, task }, signal)
    const set = resultSet(cell)
    return { record: { ...record, ...given({ set }), instance: instanceOf(cell) }, identity }
  } finally {
    await board.close()
  }
}

type RunTaskOptions = PolicyOptions & Pick<Cell, 'iterations' | 'seed'> & { readonly signal?: AbortSignal }

/** Runs one algorithm on one task on the simulated board, from a cold start. */
export async function runTask(
  task: BenchTask,
  algorithm: AlgorithmName,
  { signal, ...options }: RunTaskOptions,
): Promise<RunRecord> {
  const { record } = await runCell({ task, algorithm, powerMarginW: 0, shadow: false, ...options }, signal)
  return record
}

/** Locked clocks are tuned with other arrivals and another sensor error than in the judged run. */
const TUNING_SEEDS_APART = 500_000
/** The judged run requires 99 % in time. The tuning requires more, so that other arrivals also meet the objective. */
const TUNED_ATTAINMENT = 0.995

async function serve(cell: Cell, { board, id, caps }: ServerTask, signal?: AbortSignal): Promise<RunRecord> {
  const { algorithm, parametersFolder, loadFactor = 1 } = cell
  // Arrivals are functions, which a plan in JSON cannot contain. So they are taken from the catalogue.
  const task = { ...serverTasksOf(board, [id])[0]!, caps }
  const model = predictorOf(board, parametersFolder)
  const load = { ...task, boardName: boardName(cell), seed: boardSeed(cell), loadFactor }
  if (algorithm === 'oracle') {
    const { run } = await bestLockedClock(load, model, [plannedShares, equalShares], 0.99, signal)
    return recordOf(cell, task, run)
  }
  const shares = lockedShares[algorithm]
  const tuning = { ...load, seed: load.seed + TUNING_SEEDS_APART }
  const locked = shares && (await bestLockedClock(tuning, model, [shares], TUNED_ATTAINMENT, signal))
  const fixed = locked ? { fixedClocks: locked.clocks } : {}
  const create = (loadFactor: number, of: Pick<ServerTask, 'services'>) =>
    createServerPolicy(algorithm as ServerPolicyName, of, { model, loadFactor, ...fixed })
  if (!cell.maxLoad) return recordOf(cell, task, await runServerLoad(load, create(loadFactor, task), { signal }))
  const found = await maxLoad(task, create, { ...load, signal })
  if (!found) throw new PctodlError('NO_LOAD_HOLDS', `no load at which every service keeps its p99 and the cap holds`)
  return recordOf(cell, task, found.run, { maxLoad: found.loadFactor })
}

function recordOf(
  { algorithm }: Cell,
  task: ServerTask,
  { services, meanPowerW, energyPerRequestJ, recorded: { perSecond, ...measured } }: ServerRun,
  searched: { readonly maxLoad?: number } = {},
): RunRecord {
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
      ...searched,
      perSecond,
    },
    notes: [],
  }
}
