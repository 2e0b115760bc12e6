import { asUsage, type CommandFunction } from '@pctodl/command-line'
import { reasonsForClocks } from '../clock-reasons.js'
import { comparedPlans } from '../compare-plans.js'
import { findPlan } from '../find-plan.js'
import { paretoFront } from '../pareto-front.js'
import { publishedAllocation } from '../published/published-search.js'
import { publishedPlan } from '../simple-plans.js'
import { prepareJob } from '../training-job.js'
import { planWarnings } from '../training-plan.js'
import { drawFront } from './draw-front.js'
import { type PlanAnswer, planDocument } from './plan-document.js'
import { type PlanCall, parsePlanOptions } from './plan-options.js'
import { formatAnswer } from './plan-report.js'

/** `pctodl-hetero`, and `pctodl-hetero plan`: the cheapest split and limits. Budgets that cannot be kept are exit code 1. */
export const plan: CommandFunction = async (argv, terminal) => {
  const call = await parsePlanOptions(argv, terminal)
  // A bad job is the caller's; an infeasible budget is an answer.
  asUsage(() => prepareJob(call.job))
  const answer = call.published === null ? ours(call) : theirs(call)
  if (call.paretoFile !== null) await drawFront(call.paretoFile, answer, call.job)
  for (const warning of answer.warnings) terminal.stderr.write(`pctodl-hetero: warning: ${warning}\n`)
  terminal.stdout.write(
    call.json ? `${JSON.stringify(planDocument(call, answer), null, 2)}\n` : `${formatAnswer(call, answer)}\n`,
  )
  return 0
}

/** The cheapest plan, with what it is compared with. */
export function ours({ job, budgets, paretoFile }: PlanCall): PlanAnswer {
  const startMs = performance.now()
  const { lowerBound, warnings, ...found } = findPlan(job, budgets)
  const searchMs = performance.now() - startMs
  const front = paretoFile === null ? null : paretoFront(job)
  const clockReasons = reasonsForClocks(job, found, budgets)
  return {
    plan: found,
    lowerBound,
    warnings,
    clockReasons,
    published: null,
    compared: comparedPlans(job),
    front,
    searchMs,
  }
}

function theirs({ job, published: method }: PlanCall): PlanAnswer {
  const profiles = job.gpus.map(({ profile }) => profile)
  const startMs = performance.now()
  const published = asUsage(() => publishedAllocation(profiles, method!, job.globalBatch))
  const searchMs = performance.now() - startMs
  const found = publishedPlan(job, published)
  return {
    plan: found,
    lowerBound: null,
    warnings: planWarnings(found, prepareJob(job)),
    clockReasons: [],
    published,
    compared: comparedPlans(job),
    front: null,
    searchMs,
  }
}
