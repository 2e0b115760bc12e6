import {
  asUsage,
  type CommandFunction,
  integerFrom,
  newCommand,
  numberBetween,
  parseCommand,
  UsageError,
  writeFileAtomically,
} from '@pctodl/command-line'
import { sum } from '@pctodl/numerics'
import { withBoards } from '../carry-out/board.js'
import { type PlanFile, type RunFile, readPlan, trainingGpus } from '../carry-out/plan-file.js'
import { runPlan, runSimulated } from '../carry-out/run-plan.js'
import { repeated } from '../input-checks.js'
import { boardOptions, simulatedBoards, type TrainingOptions, withTrainingOptions } from './open-boards.js'
import { type Named, named } from './options.js'
import { formatTable } from './table.js'

interface RawOptions extends TrainingOptions {
  readonly plan: string
  readonly device: Named<string>
  readonly steps: number
  readonly allReduce?: number
  readonly output?: string
  readonly json?: boolean
}

export const launch: CommandFunction = async (argv, terminal) => {
  const command = withTrainingOptions(
    newCommand(
      {
        name: 'pctodl hetero launch',
        description:
          'Set the power limits and clocks of a plan, run a launcher such as torchrun on its GPUs, and measure time and energy.\n' +
          '{world} in the command is the number of processes; each gets its share by its RANK (pip package pctodl_hetero).',
        example:
          'pctodl hetero launch --plan plan.json --device a10=0 --device t4=1 -- torchrun --nproc-per-node {world} train.py',
      },
      terminal,
    ),
  )
    .requiredOption('--plan <file>', "output of 'pctodl hetero plan --json'")
    .requiredOption(
      '--device <name=id>',
      'device for a GPU of the plan: index, UUID or bus ID, or a simulated board (3080Ti, 3080Ti#2); repeatable',
      named((id) => id),
    )
    .option('--steps <n>', 'with --backend sim: number of measured steps', integerFrom(1), 200)
    .option(
      '--all-reduce <s>',
      "with --backend sim: gradient exchange after each step (default: the plan's)",
      numberBetween(0, 60),
    )
    .option('--output <file>', 'result file, for compare')
    .option('--json', 'print the result as JSON on standard output')
  await parseCommand(command, argv)
  const raw = command.opts<RawOptions>()
  const plan = asUsage(() => readPlan(raw.plan))
  assertDevices(plan, raw.device)
  const [names, ids] = [[...raw.device.keys()], [...raw.device.values()]]
  const host = await simulatedBoards(command, ids, ['steps', 'allReduce'], terminal.signal)
  const result = host
    ? await runSimulated({ ...plan, allReduceS: raw.allReduce ?? plan.allReduceS }, host, names, raw.steps)
    : await withBoards(ids, boardOptions(raw), (boards) =>
        runPlan(plan, new Map(names.map((name, i) => [name, boards[i]!])), {
          command: command.args,
          stepPattern: raw.stepPattern,
          signal: terminal.signal,
          onLine: (line) => terminal.stderr.write(`${line}\n`),
        }),
      )
  const json = `${JSON.stringify(result, null, 2)}\n`
  if (raw.output !== undefined) writeFileAtomically(raw.output, json)
  terminal.stdout.write(raw.json ? json : `${formatRun(result)}\n`)
  return 0
}

/** @throws UsageError for a GPU missing from the plan, or a training GPU without a device */
function assertDevices(plan: PlanFile, devices: Named<string>): void {
  const names = plan.gpus.map(({ name }) => name)
  const unknown = [...devices.keys()].find((name) => !names.includes(name))
  const missing = trainingGpus(plan).find(({ name }) => !devices.has(name))
  const twice = repeated([...devices.values()])
  const fail = (why: string) => {
    throw new UsageError(`--device: ${why}`)
  }
  if (unknown !== undefined) fail(`the plan has no GPU '${unknown}'; it has ${names.join(', ')}`)
  if (missing !== undefined) fail(`none for the plan's GPU ${missing.name}`)
  if (twice !== undefined) fail(`${twice} is given twice; each GPU of the plan needs a separate device`)
}

function formatRun({ gpus, timeS, energyJ, steady }: RunFile): string {
  const rows = gpus.map(({ name, share, powerLimitW, smClockMhz, energyJ: ownJ }) => [
    name,
    share,
    powerLimitW ?? 'left out',
    smClockMhz ?? 'free',
    ownJ.toFixed(1),
  ])
  const table = formatTable(['GPU', 'share', 'limit W', 'clock MHz', 'energy J'], rows)
  const whole = `${table}\nin all: ${timeS.toFixed(2)} s, ${energyJ.toFixed(1)} J`
  if (steady === null) return whole
  const perStep = (value: number) => (value / steady.steps).toPrecision(4)
  const joules = sum(Object.values(steady.energyJ))
  return `${whole}\nsteady: ${steady.steps} steps, ${perStep(steady.timeS)} s and ${perStep(joules)} J each`
}
