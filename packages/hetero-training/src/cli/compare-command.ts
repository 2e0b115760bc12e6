import path from 'node:path'
import { asUsage, type CommandFunction, newCommand, parseCommand, UsageError } from '@pctodl/command-line'
import { sum } from '@pctodl/numerics'
import { type PlanFile, type RunFile, readPlan, readRun } from '../carry-out/plan-file.js'
import { formatTable } from './table.js'

interface StepCost extends Pick<PlanFile, 'timeS' | 'energyJ'> {
  readonly name: string
}

export const compare: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl hetero compare',
      description: 'Compare finished runs with the predictions of their plan and its alternatives.',
      example: 'pctodl hetero compare plan.json run.json even-split.json',
    },
    terminal,
  )
    .argument('<plan>', "output of 'pctodl hetero plan --json'")
    .argument('<runs...>', 'files of launch --output; the first is the run of the plan')
    .option('--json', 'print JSON on standard output')
  await parseCommand(command, argv)
  const [planFile = '', ...runFiles] = command.args
  const plan = asUsage(() => readPlan(planFile))
  const remedy = 'plan from traces in steps, as written by collect'
  if (plan.unit === 'window') throw new UsageError(`${planFile}: its unit is a window of unknown length; ${remedy}`)
  const runs = runFiles.map((file, i) => {
    const run = asUsage(() => readRun(file))
    const name = path.basename(file, '.json')
    if (i === 0) assertRunOf(plan, run, name)
    const unmeasured = plan.gpus.filter((gpu) => !run.gpus.some((other) => other.name === gpu.name))
    const idling = unmeasured.filter(({ powerLimitW }) => powerLimitW === null)
    for (const gpu of unmeasured) {
      const text = idling.includes(gpu) ? 'what the plan says of its idling counts for the run, too' : 'it is missing'
      const warning = `warning: ${name}: the energy of ${gpu.name} was not measured; ${text}`
      terminal.stderr.write(`pctodl hetero compare: ${warning}\n`)
    }
    return stepOfRun(name, run, sum(idling.map(({ energyJ }) => energyJ)) / plan.timeS)
  })
  const [first, ...others] = [['this plan', plan] as const, ...Object.entries(plan.compared)].map(
    ([name, { timeS, energyJ }]): StepCost => ({ name: `${name}, predicted`, timeS, energyJ }),
  )
  const rows = [first!, ...runs, ...others]
  const { json } = command.opts<{ readonly json?: boolean }>()
  terminal.stdout.write(json ? `${JSON.stringify(rows, null, 2)}\n` : `${formatComparison(rows)}\n`)
  return 0
}

/**
 * @throws UsageError naming a GPU with a share if its share or setting differs in the run, or if the run lacks the GPU
 */
function assertRunOf(plan: PlanFile, run: RunFile, name: string): void {
  for (const gpu of plan.gpus) {
    const seen = run.gpus.find((other) => other.name === gpu.name)
    if (gpu.share === 0 ? seen === undefined || seen.share === 0 : seen && partOf(seen) === partOf(gpu)) continue
    throw new UsageError(
      `${name}: not a run of this plan: ${gpu.name} has ${partOf(gpu)} in the plan and ${seen ? partOf(seen) : 'nothing'} in the run; ` +
        'name the run of the plan first, others after it',
    )
  }
}

function partOf({ share, powerLimitW, smClockMhz }: RunFile['gpus'][number]): string {
  if (powerLimitW === null) return 'no share'
  return `${share} samples at ${powerLimitW} W${smClockMhz == null ? '' : ` and ${smClockMhz} MHz`}`
}

/** @param idleW idle power of GPUs that were not measured */
function stepOfRun(name: string, { steady, simulated }: RunFile, idleW: number): StepCost {
  if (steady === null) throw new UsageError(`${name}: fewer than two steps were printed; see --step-pattern of launch`)
  const timeS = steady.timeS / steady.steps
  const energyJ = sum(Object.values(steady.energyJ)) / steady.steps + idleW * timeS
  return { name: `${name}, ${simulated ? 'simulated' : 'measured'}`, timeS, energyJ }
}

function formatComparison(rows: readonly StepCost[]): string {
  const { timeS: firstS, energyJ: firstJ } = rows[0]!
  const difference = (value: number, first: number) =>
    `${value >= first ? '+' : ''}${(100 * (value / first - 1)).toFixed(1)} %`
  return formatTable(
    ['one step', 'time s', 'against plan', 'energy J', 'against plan'],
    rows.map(({ name, timeS, energyJ }, i) => [
      name,
      timeS.toPrecision(4),
      i === 0 ? '' : difference(timeS, firstS),
      energyJ.toPrecision(4),
      i === 0 ? '' : difference(energyJ, firstJ),
    ]),
  )
}
