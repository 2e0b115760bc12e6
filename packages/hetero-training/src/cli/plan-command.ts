import {
  asUsage,
  type CommandFunction,
  given,
  integerFrom,
  listOf,
  newCommand,
  numberBetween,
  parseCommand,
  positiveNumber,
  UsageError,
} from '@pctodl/command-line'
import { Option } from 'commander'
import { PLAN_FORMAT, PLAN_VERSION } from '../carry-out/plan-file.js'
import { type Budgets, findPlan, InfeasibleBudgetError, keepsBudgets, planOrReason } from '../find-plan.js'
import { readProfile } from '../profile/profile-file.js'
import { isLocked } from '../profile/setting.js'
import { simplePlans } from '../simple-plans.js'
import { prepareJob, type TrainingGpu, type TrainingJob } from '../training-job.js'
import type { TrainingPlan } from '../training-plan.js'
import { type Named, named } from './options.js'
import { formatTable } from './table.js'

interface RawOptions {
  readonly gpu: Named<string>
  readonly batch: number
  readonly eta: number
  readonly budgetTime?: number
  readonly budgetEnergy?: number
  readonly budgetPower?: number
  readonly allReduce: number
  readonly useAll?: boolean
  readonly json?: boolean
}

/** Options with a value for each GPU: the field that they set, their flags and description, and how to read a value. */
const gpuOptions = [
  ['idlePowerW', '--idle-power <name=W>', 'power of a GPU while it waits', numberBetween(0, 1e4)],
  ['maxShare', '--max-share <name=samples>', 'maximum samples per step of a GPU', integerFrom(1)],
  [
    'maxMicroBatch',
    '--micro-batch <name=samples>',
    'maximum samples that fit in the memory of a GPU: larger shares are accumulated',
    integerFrom(1),
  ],
  ['powerLimitsW', '--limits <name=W,W>', 'usable power limits (default: all in the trace)', listOf(positiveNumber())],
  [
    'smClocksMhz',
    '--sm-clocks <name=MHz,MHz>',
    'SM clocks that may be locked, or none (default: all in the trace)',
    (list: string) => (list === 'none' ? [] : listOf(positiveNumber())(list)),
  ],
] as const

/** `pctodl hetero plan`: the cheapest split and limits. Exit code 1 if the budgets cannot be met. */
export const plan: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl hetero plan',
      description:
        'Split a global batch over unequal GPUs and choose their power limits to minimise energy, time or a weighted cost.',
      example:
        'pctodl hetero plan --gpu a10=a10.json --gpu t4=t4.json --idle-power a10=20 --idle-power t4=15 --batch 2048',
    },
    terminal,
  )
    .requiredOption(
      '--gpu <name=trace>',
      'a GPU and its trace, from collect or the published tools; repeatable',
      named((trace) => trace),
    )
    .requiredOption('--batch <samples>', 'global batch', integerFrom(1, 2 ** 20))
    .option('--eta <weight>', 'weight of energy against time, 0..1', numberBetween(0, 1), 0.5)
    .option('--budget-time <s>', 'maximum time of a step (of a window if traces are in windows)', positiveNumber('s'))
    .option('--budget-energy <J>', 'maximum energy of a step (window)', positiveNumber('J'))
    .option('--budget-power <W>', 'maximum sum of the power limits', positiveNumber('W'))
  const ofGpu = gpuOptions.map(([field, flags, text, parse]) => {
    const option = new Option(flags, `${text}; repeatable`).argParser(named<number | number[]>(parse))
    command.addOption(option)
    return { field, option }
  })
  command
    .option('--all-reduce <s>', 'gradient exchange after each step', numberBetween(0, 1e6), 0)
    .option('--use-all', 'use every GPU')
    .option('--json', 'print the plan as JSON on standard output')
  await parseCommand(command, argv)
  const raw = command.opts<RawOptions>()
  const fields = new Map([...raw.gpu.keys()].map((name) => [name, {} as Partial<GpuFields>]))
  for (const { field, option } of ofGpu) {
    for (const [name, value] of command.getOptionValue(option.attributeName()) ?? []) {
      const known = [...raw.gpu.keys()].join(', ')
      if (!fields.has(name)) throw new UsageError(`${option.long}: unknown GPU '${name}'; known: ${known}`)
      fields.set(name, { ...fields.get(name), [field]: value })
    }
  }
  // An invalid job is a usage error; an infeasible budget is a result.
  const job = asUsage(() => jobOf(raw, fields))
  asUsage(() => prepareJob(job))
  const budgets = given({ timeS: raw.budgetTime, energyJ: raw.budgetEnergy, powerW: raw.budgetPower })
  const startMs = performance.now()
  const { lowerBound, warnings, ...found } = findPlan(job, budgets)
  const searchMs = performance.now() - startMs
  const compared = comparedPlans(job, budgets, found)
  for (const warning of warnings) terminal.stderr.write(`pctodl hetero: warning: ${warning}\n`)
  if (raw.json) {
    // For `launch`; see `PlanFile`.
    const document = {
      ...{ format: PLAN_FORMAT, version: PLAN_VERSION, globalBatch: raw.batch, eta: raw.eta, budgets },
      allReduceS: raw.allReduce,
      ...found,
      gpus: found.gpus.map((gpu) => ({ ...gpu, gradientWeight: gpu.share / raw.batch })),
      compared: Object.fromEntries(compared),
      ...{ lowerBound, warnings, searchMs },
    }
    terminal.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
    return 0
  }
  const gap = 1 - lowerBound / found.cost
  const optimality = gap < 1e-9 ? 'optimal' : `at most ${(100 * gap).toPrecision(2)} % above the optimum`
  const totals = [...formatTotals(found, raw.eta), `search         ${searchMs.toFixed(1)} ms, ${optimality}`]
  const parts = [formatGpus(found, raw.batch), totals.join('\n'), formatComparison(found, compared, budgets)]
  terminal.stdout.write(`${parts.join('\n\n')}\n`)
  return 0
}

type GpuFields = Omit<TrainingGpu, 'profile'> & { readonly idlePowerW: number }

function jobOf(raw: RawOptions, fields: ReadonlyMap<string, Partial<GpuFields>>): TrainingJob {
  const gpus = [...raw.gpu].map(([name, trace]): TrainingGpu => {
    const { idlePowerW, ...others } = fields.get(name)!
    return { profile: readProfile(trace, { name, ...given({ idlePowerW }) }), ...others }
  })
  return { gpus, globalBatch: raw.batch, eta: raw.eta, allReduceS: raw.allReduce, mayLeaveOut: !raw.useAll }
}

/** Plans that need no search and, if the plan locks clocks, the best plan without locked clocks. */
function comparedPlans(job: TrainingJob, budgets: Budgets, { gpus }: TrainingPlan): Map<string, TrainingPlan> {
  const compared = new Map<string, TrainingPlan>(simplePlans(job))
  if (!gpus.some(isLocked)) return compared
  const unlocked = planOrReason({ ...job, gpus: job.gpus.map((gpu) => ({ ...gpu, smClocksMhz: [] })) }, budgets)
  if (unlocked instanceof InfeasibleBudgetError) return compared
  const { lowerBound: _, warnings: __, ...best } = unlocked
  return new Map([['best without locked clocks', best], ...compared])
}

function formatGpus(plan: TrainingPlan, globalBatch: number): string {
  const rows = plan.gpus.map(
    ({ name, share, microBatches, powerLimitW, timeS, waitS, powerW, energyJ, smClockMhz, extrapolated }) => [
      name,
      `${share}${microBatches > 1 ? ` in ${microBatches}` : ''}${extrapolated ? '*' : ''}`,
      ((100 * share) / globalBatch).toFixed(1),
      powerLimitW ?? 'left out',
      smClockMhz ?? 'free',
      timeS.toPrecision(4),
      waitS.toPrecision(4),
      powerW.toFixed(1),
      energyJ.toPrecision(4),
    ],
  )
  const table = formatTable(
    ['GPU', 'share', 'percent', 'limit W', 'clock MHz', 'computes s', 'waits s', 'power W', 'energy J'],
    rows,
  )
  return table + (plan.gpus.some(({ extrapolated }) => extrapolated) ? '\n* beyond the trace' : '')
}

function formatTotals(plan: TrainingPlan, eta: number): string[] {
  const { unit, timeS, timeSd, energyJ, energySd, cost, powerLimitW } = plan
  const percent = (sd: number) => (sd === 0 ? '' : ` +- ${(100 * sd).toFixed(1)} %`)
  return [
    `${`one ${unit}`.padEnd(15)}${timeS.toPrecision(4)} s${percent(timeSd)}, ${energyJ.toPrecision(4)} J${percent(energySd)}, ` +
      `cost ${cost.toPrecision(6)} W s (eta ${eta})`,
    `power limits   ${powerLimitW.toFixed(0)} W together`,
  ]
}

function formatComparison(plan: TrainingPlan, compared: ReadonlyMap<string, TrainingPlan>, budgets: Budgets): string {
  const row = (name: string, other: TrainingPlan, above: string) => [
    keepsBudgets(other, budgets) ? name : `${name} (over budget)`,
    other.timeS.toPrecision(4),
    other.energyJ.toPrecision(4),
    other.cost.toPrecision(6),
    above,
  ]
  return formatTable(
    ['for comparison', 'time s', 'energy J', 'cost W s', 'cost above this plan'],
    [
      row('this plan', plan, ''),
      ...[...compared].map(([name, other]) => row(name, other, `${(100 * (other.cost / plan.cost - 1)).toFixed(1)} %`)),
    ],
  )
}
