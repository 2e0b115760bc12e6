import { modelOf } from '@pctodl/perf-model/node'
import { mostLoad, steadyMix } from './most-load.js'
import { runServerLoad } from './run-server-task.js'
import { type ServerCell, serverBoardName, serverSeed } from './server-cell.js'
import { bestFixedClocks, oracleMostLoad, oracleRun } from './server-oracle.js'
import { createServerPolicy } from './server-policies.js'
import type { ServerResult } from './server-store.js'
import { serverTasksOf } from './server-tasks.js'

/** Where a search for the most load begins: what most tasks leave free at their own rates. */
const FIRST_FACTOR = 2

/** Run one cell. @throws what the policy throws, the signal's reason */
export async function executeServerCell(cell: ServerCell, signal?: AbortSignal): Promise<ServerResult> {
  const { board, taskId, policy, parametersFolder, loadFactor = 1 } = cell
  const [task] = serverTasksOf(board, [taskId])
  const model = modelOf(board, parametersFolder)
  const where = { boardName: serverBoardName(cell), seed: serverSeed(cell), ...(signal ? { signal } : {}) }
  if (policy === 'oracle') {
    if (!cell.mostLoad) return { run: await oracleRun(task!, { model, loadFactor, ...where }) }
    return { mostLoad: (await oracleMostLoad(task!, { model, ...where })).loadFactor }
  }
  const fixedClocks = async (loadFactor: number) =>
    policy === 'fixed-clock' ? { fixedClocks: await bestFixedClocks(task!, { model, loadFactor, ...where }) } : {}
  if (!cell.mostLoad) {
    const run = await runServerLoad(
      { ...task!, ...where, loadFactor },
      createServerPolicy(policy, task!, { model, loadFactor, ...(await fixedClocks(loadFactor)) }),
      where,
    )
    return { run }
  }
  const mix = steadyMix(task!)
  const own = await fixedClocks(1)
  const create = (loadFactor: number) => createServerPolicy(policy, mix, { model, loadFactor, ...own })
  return { mostLoad: await mostLoad(task!, create, { ...where, from: FIRST_FACTOR }) }
}
