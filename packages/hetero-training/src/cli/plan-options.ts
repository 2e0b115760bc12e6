import {
  asUsage,
  integerFrom,
  newCommand,
  numberBetween,
  parseCommand,
  positiveNumber,
  type Terminal,
  UsageError,
} from '@pctodl/command-line'
import { type Command, InvalidArgumentError } from 'commander'
import type { Budgets } from '../find-plan.js'
import { readProfile } from '../profile/profile-file.js'
import type { TrainingJob } from '../training-job.js'

/** What one call of `pctodl hetero plan` asks for, checked. */
export interface PlanCall {
  readonly job: TrainingJob
  readonly budgets: Budgets
  readonly json: boolean
}

/** `NAME=VALUE` options by name. */
export type Named<T> = ReadonlyMap<string, T>

interface RawOptions {
  readonly gpu: Named<string>
  readonly batch: number
  readonly eta: number
  readonly budgetTime?: number
  readonly budgetEnergy?: number
  readonly budgetPower?: number
  readonly idlePower?: Named<number>
  readonly maxShare?: Named<number>
  readonly microBatch?: Named<number>
  readonly limits?: Named<number[]>
  readonly smClocks?: Named<number[]>
  readonly allReduce: number
  readonly useAll?: boolean
  readonly json?: boolean
}

/** @throws UsageError for anything that a user could have typed wrong, unreadable traces included */
export async function parsePlanOptions(argv: readonly string[], terminal: Terminal): Promise<PlanCall> {
  const command = newCommand(
    {
      name: 'pctodl hetero plan',
      description:
        'Split a global batch over unequal GPUs and choose their power limits for least energy, time or a weighted cost.',
      example:
        'pctodl hetero plan --gpu a10=a10.json --gpu t4=t4.json --idle-power a10=20 --idle-power t4=15 --batch 2048',
    },
    terminal,
  )
    .requiredOption(
      '--gpu <name=trace>',
      'a GPU and its trace, as collect or the published tools write it; repeat it',
      named((trace) => trace),
    )
    .requiredOption('--batch <samples>', 'global batch', integerFrom(1, 2 ** 20))
    .option('--eta <weight>', 'weight of energy against time, 0..1', numberBetween(0, 1), 0.5)
    .option(
      '--budget-time <s>',
      'most time of a step (of a window, where traces count in windows)',
      positiveNumber('s'),
    )
    .option('--budget-energy <J>', 'most energy of a step (window)', positiveNumber('J'))
    .option('--budget-power <W>', 'most that the power limits may add up to', positiveNumber('W'))
    .option('--idle-power <name=W>', 'what a GPU draws while it waits; repeat it', named(numberBetween(0, 1e4)))
    .option('--max-share <name=samples>', 'most samples of a step for a GPU; repeat it', named(integerFrom(1)))
    .option(
      '--micro-batch <name=samples>',
      'most samples that the memory of a GPU holds at once: larger shares are accumulated; repeat it',
      named(integerFrom(1)),
    )
    .option(
      '--limits <name=W,W>',
      'power limits that may be set (default: all of the trace); repeat it',
      named(positive),
    )
    .option(
      '--sm-clocks <name=MHz,MHz>',
      'SM clocks that may be locked, or none (default: all of the trace); repeat it',
      named((list) => (list === 'none' ? [] : positive(list))),
    )
    .option('--all-reduce <s>', 'gradient exchange after each step', numberBetween(0, 1e6), 0)
    .option('--use-all', 'leave no GPU out')
    .option('--json', 'print the plan as JSON on standard output')
  await parseCommand(command, argv)
  const raw = command.opts<RawOptions>()
  for (const key of ['idlePower', 'maxShare', 'microBatch', 'limits', 'smClocks'] as const) {
    const unknown = [...(raw[key]?.keys() ?? [])].find((name) => !raw.gpu.has(name))
    if (unknown === undefined) continue
    const option = command.options.find((each) => each.attributeName() === key)!.long
    throw new UsageError(`${option}: there is no GPU '${unknown}'; there are ${[...raw.gpu.keys()].join(', ')}`)
  }
  return asUsage(() => ({
    job: jobOf(raw),
    budgets: given({ timeS: raw.budgetTime, energyJ: raw.budgetEnergy, powerW: raw.budgetPower }),
    json: raw.json ?? false,
  }))
}

function jobOf(raw: RawOptions): TrainingJob {
  const gpus = [...raw.gpu].map(([name, trace]) => ({
    profile: readProfile(trace, { name, ...given({ idlePowerW: raw.idlePower?.get(name) }) }),
    ...given({
      maxShare: raw.maxShare?.get(name),
      maxMicroBatch: raw.microBatch?.get(name),
      powerLimitsW: raw.limits?.get(name),
      smClocksMhz: raw.smClocks?.get(name),
    }),
  }))
  return { gpus, globalBatch: raw.batch, eta: raw.eta, allReduceS: raw.allReduce, mayLeaveOut: !raw.useAll }
}

/** Without what was not given. */
function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never
}

/** `NAME=VALUE`, collected over repeated options. */
export function named<T>(parse: (value: string) => T) {
  return (option: string, before: Named<T> = new Map()): Named<T> => {
    const at = option.indexOf('=')
    if (at < 1 || at === option.length - 1) throw new InvalidArgumentError(`not NAME=VALUE: '${option}'.`)
    const name = option.slice(0, at)
    if (before.has(name)) throw new InvalidArgumentError(`${name} is there twice.`)
    return new Map([...before, [name, parse(option.slice(at + 1))]])
  }
}

function positive(list: string): number[] {
  const values = list.split(',').map(Number)
  if (!values.every((value) => value > 0 && Number.isFinite(value))) {
    throw new InvalidArgumentError('not positive numbers separated by commas.')
  }
  return values
}

/** @throws UsageError for an option that was given and would be ignored. @param names as `opts` has them */
export function refuseGiven(command: Command, names: readonly string[], why: string): void {
  const given = names.find((name) => command.getOptionValueSource(name) === 'cli')
  const option = command.options.find((each) => each.attributeName() === given)
  if (option) throw new UsageError(`${option.long}: ${why}`)
}
