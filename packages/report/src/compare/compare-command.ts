import { existsSync } from 'node:fs'
import { type CommandFunction, integerFrom, jsonText, newCommand, parseCommand, UsageError } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { formatDifferences } from '../table/comparison-table.js'
import { type ComparedRun, compareRuns } from './compare-runs.js'
import { readResultFolder } from './read-result-folder.js'

/** `bench-runner compare A B`: compares two folders of result files. */
export const compareResults: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'bench-runner compare',
      description:
        'Compare two result folders, of bench-runner or of the Python runner, with a significance test for each difference.',
      example: 'bench-runner compare ./results-before ./results-after',
    },
    terminal,
  )
    .argument('<a>', 'first result folder')
    .argument('<b>', 'second result folder')
    .option('--skip <n>', 'number of windows to skip at the start of each run', integerFrom(0), 1)
    .option('--json', 'print JSON')
  await parseCommand(command, argv)
  const [a, b] = command.args.map(readFolder)
  const { skip, json } = command.opts<{ skip: number; json?: boolean }>()
  const { differences, onlyInA, onlyInB } = compareRuns(a!, b!, skip)
  if (json) {
    terminal.stdout.write(jsonText({ differences, onlyInA, onlyInB }))
    return 0
  }
  if (differences.length === 0) throw new PctodlError('NOTHING_IN_COMMON', 'the two folders have no run in common')
  terminal.stdout.write(`${formatDifferences(differences)}\n`)
  for (const [name, runs] of [
    ['A', onlyInA],
    ['B', onlyInB],
  ] as const) {
    if (runs.length > 0) terminal.stdout.write(`only in ${name}: ${runs.join(', ')}\n`)
  }
  return 0
}

function readFolder(folder: string): ComparedRun[] {
  if (!existsSync(folder)) throw new UsageError(`${folder}: there is no such folder`)
  const runs = readResultFolder(folder)
  if (runs.length === 0)
    throw new PctodlError('NO_RESULTS', `${folder}: no results files (<GPU>_<algorithm>/<id>_..csv)`)
  return runs
}
