import { type CommandFunction, integerFrom, newCommand, parseCommand, Subcommands } from '@pctodl/command-line'
import { version } from '../../package.json'
import { addDeployOptions, deploy } from './deploy-command.js'
import { addPlanOptions, plan } from './plan-command.js'
import { addScheduleOptions, schedule } from './schedule-command.js'

export const segments: CommandFunction = async (argv, terminal) => {
  const program = newCommand(
    {
      name: 'pctodl segments',
      version,
      description: 'Pack services with latency and rate objectives onto MIG instances with MPS inside, on few GPUs.',
      example: 'pctodl segments 2 --gpu A100-80GB --explain --picture',
    },
    terminal,
  )
  const row = integerFrom(1)
  const subcommands = new Subcommands(program, terminal)
  addPlanOptions(subcommands.add('plan', 'plan one row of the objective files (default command: `pctodl segments 2`)'))
    .argument('<SLO_INDEX>', 'row of the objective files, from 1', row)
    .action(subcommands.action((options, [sloIndex]) => plan(Number(sloIndex), options, terminal)))
  addScheduleOptions(
    subcommands.add('schedule', 'plan the rows of the objective files as successive periods with the least energy'),
  ).action(subcommands.action((options) => schedule(options, terminal)))
  const deployHelp = "run this node's part of a map on this machine; a dry run unless --apply is given"
  addDeployOptions(subcommands.add('deploy', deployHelp))
    .argument('[SLO_INDEX]', 'row whose map is in the output folder', row)
    .action(subcommands.action((options, [row]) => deploy(row === undefined ? row : Number(row), options, terminal)))
  const isPlan = /^($|\d|-(?!-help$|-version$))/.test(argv[0] ?? '')
  await parseCommand(program, isPlan ? ['plan', ...argv] : argv, { '--board': '--gpu' })
  return subcommands.exitCode
}
