import { existsSync } from 'node:fs'
import { type CommandFunction, integerFrom, jsonText, newCommand, parseCommand, UsageError } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { figure, textTable } from '../table/report-table.js'
import { type ComparedRun, compareRuns, type RunDifference } from './compare-runs.js'
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
  const comparison = compareRuns(a!, b!, skip)
  const { differences, onlyInA, onlyInB } = comparison
  if (!json && differences.length === 0) {
    throw new PctodlError('NOTHING_IN_COMMON', 'the two folders have no run in common')
  }
  const only = Object.entries({ A: onlyInA, B: onlyInB }).filter(([, runs]) => runs.length > 0)
  const lines = [formatDifferences(differences), ...only.map(([side, runs]) => `only in ${side}: ${runs.join(', ')}`)]
  terminal.stdout.write(json ? jsonText(comparison) : `${lines.join('\n')}\n`)
  return 0
}

/** A difference is marked as significant if its p-value is below this. */
const SIGNIFICANT = 0.05

/** Formats differences as text, one line per run. */
export function formatDifferences(differences: readonly RunDifference[]): string {
  const head = ['run', 'A, samples/s', 'B, samples/s', 'change', 'p', 'A, W', 'B, W']
  const rows = differences.map(
    ({ run, throughputA, throughputB, throughputChangePercent: change, pValue, powerAW, powerBW }) => [
      run,
      figure(throughputA, 1),
      figure(throughputB, 1),
      change === null ? '-' : `${change >= 0 ? '+' : ''}${change.toFixed(2)} %`,
      `${pValue !== null && pValue < 0.001 ? '< 0.001' : figure(pValue, 3)}${pValue !== null && pValue < SIGNIFICANT ? ' *' : ''}`,
      figure(powerAW, 1),
      figure(powerBW, 1),
    ],
  )
  const legend = `* p < ${SIGNIFICANT} by Welch's test: on runs where there are several, else on windows, which understates p`
  return `${textTable({ head, rows })}\n${legend}`
}

function readFolder(folder: string): ComparedRun[] {
  if (!existsSync(folder)) throw new UsageError(`${folder}: there is no such folder`)
  const runs = readResultFolder(folder)
  if (runs.length === 0)
    throw new PctodlError('NO_RESULTS', `${folder}: no results files (<GPU>_<algorithm>/<id>_..csv)`)
  return runs
}
