import { type Budgets, findPlan, InfeasibleBudgetError } from './find-plan.js'
import { isLocked } from './profile/setting.js'
import { prepareJob, type TrainingJob } from './training-job.js'
import { settingIndex, type TrainingPlan } from './training-plan.js'

/**
 * Why a plan locks SM clocks, a sentence for each GPU and one for the plan; none where it locks none. Each clock is set beside the power limits of
 * its GPU for the same share in as little time, and the plan beside the cheapest with power limits alone.
 */
export function reasonsForClocks(job: TrainingJob, plan: TrainingPlan, budgets: Budgets): string[] {
  const locked = plan.gpus.filter(isLocked)
  if (locked.length === 0) return []
  const prepared = prepareJob(job)
  const deadlineS = plan.timeS - prepared.allReduceS
  const spareW = (budgets.powerW ?? Number.POSITIVE_INFINITY) - plan.powerLimitW
  const sentences = locked.map(({ name, share, smClockMhz, powerLimitW, timeS, powerW }) => {
    const i = prepared.curves.findIndex((gpu) => gpu.name === name)
    const { settings, timeS: timeOf, powerW: powerOf, idlePowerW } = prepared.curves[i]!
    const activeJ = (seconds: number, watts: number) => seconds * watts + (deadlineS - seconds) * idlePowerW
    const own = settingIndex(prepared.curves[i]!, { powerLimitW: powerLimitW!, smClockMhz })
    const limits = prepared.limitIndices[i]!.filter((s) => s !== own && !isLocked(settings[s]!))
    const affordable = limits.filter((s) => settings[s]!.powerLimitW <= powerLimitW! + spareW)
    const within = affordable.filter((s) => timeOf(s, share) <= deadlineS * (1 + 1e-9))
    const what = `${name} at ${smClockMhz} MHz: ${activeJ(timeS, powerW).toPrecision(4)} J a step for its share`
    if (within.length === 0) {
      const most = affordable.length < limits.length ? ` of at most ${(powerLimitW! + spareW).toFixed(0)} W` : ''
      const fastestS = Math.min(...affordable.map((s) => timeOf(s, share)))
      const fastest = affordable.length === 0 ? '' : `, the fastest takes ${fastestS.toPrecision(4)} s`
      return `${what}; no power limit${most} does it in ${deadlineS.toPrecision(4)} s${fastest}`
    }
    const joules = (s: number) => activeJ(timeOf(s, share), powerOf(s, share))
    const best = within.reduce((a, b) => (joules(b) < joules(a) ? b : a))
    return `${what}, ${joules(best).toPrecision(4)} J under the best power limit that is as fast, ${settings[best]!.powerLimitW} W`
  })
  return [...sentences, withLimitsAlone(job, plan, budgets)]
}

function withLimitsAlone(job: TrainingJob, plan: TrainingPlan, budgets: Budgets): string {
  const gpus = job.gpus.map((gpu) => ({ ...gpu, smClocksMhz: [] }))
  try {
    const { timeS, energyJ, cost } = findPlan({ ...job, gpus }, budgets)
    const dearer = cost / plan.cost - 1
    const known = Math.hypot(plan.timeSd, plan.energySd)
    const doubt = dearer < known ? ', which is less than the profiles are certain of' : ''
    return `with power limits alone: ${timeS.toPrecision(4)} s, ${energyJ.toPrecision(4)} J, cost ${(100 * dearer).toFixed(1)} % above${doubt}`
  } catch (error) {
    if (!(error instanceof InfeasibleBudgetError)) throw error
    return 'with power limits alone no plan was found that keeps the budgets'
  }
}
