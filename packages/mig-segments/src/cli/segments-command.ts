import { type CommandFunction, integerFrom, newCommand, newSubcommand, parseCommand } from '@pctodl/command-line'
import { version } from '../../package.json'
import { addDeployOptions, deploy } from './deploy-command.js'
import { addFleetOptions, fleet } from './fleet-command.js'
import { addPlanOptions, plan } from './plan-command.js'
import { addReplanOptions, replan } from './replan-command.js'
import { addScheduleOptions, schedule } from './schedule-command.js'

/** The command line `pctodl-segments` as a function. */
export const segments: CommandFunction = async (argv, terminal) => {
  let exitCode = 0
  const program = newCommand(
    {
      name: 'pctodl-segments',
      version,
      description: 'Pack services with latency and rate objectives onto MIG instances with MPS inside, on few GPUs.',
      example: 'pctodl-segments 2 --gpu A100-80GB --explain --picture',
    },
    terminal,
  )
  const row = integerFrom(1)
  addPlanOptions(
    newSubcommand(program, 'plan', 'plan a row of the objective files (the default: `pctodl-segments 2`)', terminal, {
      isDefault: true,
    }).argument('<SLO_INDEX>', 'row of the objective files, from 1', row),
  ).action(async (sloIndex: number, options) => {
    exitCode = await plan(sloIndex, options, terminal)
  })
  addFleetOptions(
    newSubcommand(program, 'fleet', 'plan a row of the objective files on boards of several types', terminal).argument(
      '<SLO_INDEX>',
      'row of the objective files, from 1',
      row,
    ),
  ).action(async (sloIndex: number, options) => {
    exitCode = await fleet(sloIndex, options, terminal)
  })
  addScheduleOptions(
    newSubcommand(
      program,
      'schedule',
      'follow the rows of the objective files, one period each, at the least energy',
      terminal,
    ),
  ).action(async (options) => {
    exitCode = await schedule(options, terminal)
  })
  addReplanOptions(
    newSubcommand(
      program,
      'replan',
      'change a running map to a row of the objective files, with few segments moved',
      terminal,
    ).argument('<SLO_INDEX>', 'row of the objective files, from 1', row),
  ).action(async (sloIndex: number, options) => {
    exitCode = await replan(sloIndex, options, terminal)
  })
  addDeployOptions(
    newSubcommand(
      program,
      'deploy',
      "make this machine run its node's part of a map; a dry run unless --apply is given",
      terminal,
    ).argument('[SLO_INDEX]', 'row whose map is in the output folder', row),
  ).action(async (sloIndex: number | undefined, options) => {
    exitCode = await deploy(sloIndex, options, terminal)
  })
  await parseCommand(program, argv, { '--board': '--gpu' })
  return exitCode
}
