import { type CommandFunction, integerFrom, newCommand, newSubcommand, parseCommand } from '@pctodl/command-line'
import { version } from '../../package.json'
import { addDeployOptions, deploy } from './deploy-command.js'
import { addPlanOptions, plan } from './plan-command.js'
import { addScheduleOptions, schedule } from './schedule-command.js'

export const segments: CommandFunction = async (argv, terminal) => {
  let exitCode = 0
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
  const add = (name: string, description: string) => newSubcommand(program, name, description, terminal)
  addPlanOptions(add('plan', 'plan one row of the objective files (default command: `pctodl segments 2`)'))
    .argument('<SLO_INDEX>', 'row of the objective files, from 1', row)
    .action(async (sloIndex: number, options) => {
      exitCode = await plan(sloIndex, options, terminal)
    })
  addScheduleOptions(
    add('schedule', 'plan the rows of the objective files as successive periods with the least energy'),
  ).action(async (options) => {
    exitCode = await schedule(options, terminal)
  })
  addDeployOptions(add('deploy', "run this node's part of a map on this machine; a dry run unless --apply is given"))
    .argument('[SLO_INDEX]', 'row whose map is in the output folder', row)
    .action(async (sloIndex: number | undefined, options) => {
      exitCode = await deploy(sloIndex, options, terminal)
    })
  // A first word that is a number or a plan's option means `plan`: `pctodl segments 2` plans row 2.
  const isPlan = /^($|\d|-(?!-help$|-version$))/.test(argv[0] ?? '')
  await parseCommand(program, isPlan ? ['plan', ...argv] : argv, { '--board': '--gpu' })
  return exitCode
}
