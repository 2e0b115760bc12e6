import { asUsage, type CommandFunction } from '@pctodl/command-line'
import { PLAN_FORMAT, PLAN_VERSION } from '../carry-out/plan-file.js'
import { findPlan, InfeasibleBudgetError } from '../find-plan.js'
import { isLocked } from '../profile/setting.js'
import { simplePlans } from '../simple-plans.js'
import { prepareJob } from '../training-job.js'
import type { TrainingPlan } from '../training-plan.js'
import { type PlanCall, parsePlanOptions } from './plan-options.js'
import { formatAnswer, type PlanAnswer } from './plan-report.js'

/** `pctodl hetero plan`: the cheapest split and limits. Budgets that cannot be kept are exit code 1. */
export const plan: CommandFunction = async (argv, terminal) => {
  const call = await parsePlanOptions(argv, terminal)
  // A bad job is the caller's; an infeasible budget is an answer.
  asUsage(() => prepareJob(call.job))
  const answer = answerOf(call)
  for (const warning of answer.warnings) terminal.stderr.write(`pctodl hetero: warning: ${warning}\n`)
  terminal.stdout.write(
    call.json ? `${JSON.stringify(documentOf(call, answer), null, 2)}\n` : `${formatAnswer(call, answer)}\n`,
  )
  return 0
}

function answerOf(call: PlanCall): PlanAnswer {
  const { job, budgets } = call
  const startMs = performance.now()
  const { lowerBound, warnings, ...found } = findPlan(job, budgets)
  const searchMs = performance.now() - startMs
  return { plan: found, lowerBound, warnings, compared: comparedPlans(call, found), searchMs }
}

/** Plans that need no search and, beside a plan that locks clocks, the best that locks none. */
function comparedPlans({ job, budgets }: PlanCall, { gpus }: TrainingPlan): Map<string, TrainingPlan> {
  const compared = new Map<string, TrainingPlan>(simplePlans(job))
  if (!gpus.some(isLocked)) return compared
  try {
    const {
      lowerBound: _,
      warnings: __,
      ...unlocked
    } = findPlan({ ...job, gpus: job.gpus.map((gpu) => ({ ...gpu, smClocksMhz: [] })) }, budgets)
    return new Map([['best without locked clocks', unlocked], ...compared])
  } catch (error) {
    if (error instanceof InfeasibleBudgetError) return compared
    throw error
  }
}

/** The answer as `--json` prints it; of a plan, for those who carry it out, see `PlanFile`. */
function documentOf({ job, budgets }: PlanCall, { plan: found, compared, ...answer }: PlanAnswer): object {
  const { globalBatch, eta, allReduceS } = job
  return {
    format: PLAN_FORMAT,
    version: PLAN_VERSION,
    globalBatch,
    eta,
    budgets,
    allReduceS,
    ...found,
    gpus: found.gpus.map((gpu) => ({ ...gpu, gradientWeight: gpu.share / globalBatch })),
    compared: Object.fromEntries(compared),
    ...answer,
  }
}
