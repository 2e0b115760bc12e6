import { existsSync } from 'node:fs'
import { type CommandFunction, integerFrom, newCommand, parseCommand, UsageError } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import Table from 'cli-table3'
import { type ResultFile, readResultFolder } from './read-result-folder.js'
import { meanInterval } from './report/mean-interval.js'
import { welchTest } from './report/welch-test.js'

/** One run that two folders have in common, with what differs. */
export interface RunDifference {
  readonly run: string
  /** Means over the windows that count, samples/s. */
  readonly throughputA: number
  readonly throughputB: number
  /** Change from A to B, percent. */
  readonly throughputChangePercent: number
  /** Welch's test on the windows (or on the runs, where there are several of each); null where nothing can be tested. */
  readonly pValue: number | null
  readonly powerAW: number | null
  readonly powerBW: number | null
}

/** Below this p a difference is marked. */
const SIGNIFICANT = 0.05

/** `bench-runner compare A B`: two result folders side by side. */
export const compare: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'bench-runner compare',
      description:
        'Two result folders side by side, ours or those of the Python runner, with a test for each difference.',
      example: 'bench-runner compare ./results-before ./results-after',
    },
    terminal,
  )
    .argument('<a>', 'a result folder')
    .argument('<b>', 'another')
    .option('--skip <n>', 'windows at the start of each run that do not count', integerFrom(0), 1)
    .option('--json', 'print JSON')
  await parseCommand(command, argv)
  const [a, b] = command.args.map(readFolder)
  const { skip, json } = command.opts<{ skip: number; json?: boolean }>()
  const differences = differencesOf(a!, b!, skip)
  const onlyIn = (these: readonly ResultFile[], others: readonly ResultFile[]) =>
    [...new Set(these.map(({ run }) => run))].filter((run) => !others.some((other) => other.run === run))
  const [onlyA, onlyB] = [onlyIn(a!, b!), onlyIn(b!, a!)]
  if (json) {
    terminal.stdout.write(`${JSON.stringify({ differences, onlyInA: onlyA, onlyInB: onlyB }, null, 2)}\n`)
    return 0
  }
  if (differences.length === 0) throw new PctodlError('NOTHING_IN_COMMON', 'the two folders have no run in common')
  terminal.stdout.write(`${formatDifferences(differences)}\n`)
  for (const [name, runs] of [
    ['A', onlyA],
    ['B', onlyB],
  ] as const) {
    if (runs.length > 0) terminal.stdout.write(`only in ${name}: ${runs.join(', ')}\n`)
  }
  return 0
}

function readFolder(folder: string): ResultFile[] {
  if (!existsSync(folder)) throw new UsageError(`${folder}: there is no such folder`)
  const files = readResultFolder(folder)
  if (files.length === 0)
    throw new PctodlError('NO_RESULTS', `${folder}: no results files (<GPU>_<algorithm>/<id>_..csv)`)
  return files
}

/** @param skip windows at the start of each run that do not count */
export function differencesOf(a: readonly ResultFile[], b: readonly ResultFile[], skip: number): RunDifference[] {
  const runs = [...new Set(a.map(({ run }) => run))].filter((run) => b.some((other) => other.run === run))
  return runs.map((run) => {
    const [of, against] = [a, b].map((files) =>
      observations(
        files.filter((file) => file.run === run),
        skip,
      ),
    )
    const [throughputA, throughputB] = [mean(of!.throughput) ?? 0, mean(against!.throughput) ?? 0]
    return {
      run,
      throughputA,
      throughputB,
      throughputChangePercent: 100 * (throughputB / throughputA - 1),
      pValue: welchTest(of!.throughput, against!.throughput),
      powerAW: mean(of!.powerW),
      powerBW: mean(against!.powerW),
    }
  })
}

/** Windows of one run depend on each other, whole runs do not: where there are several runs, each is one observation. */
function observations(files: readonly ResultFile[], skip: number) {
  const after = (values: readonly number[]) => values.slice(Math.min(skip, values.length - 1))
  const pick = (figures: (file: ResultFile) => readonly number[]) =>
    files.length === 1 ? after(figures(files[0]!)) : files.flatMap((file) => mean(after(figures(file))) ?? [])
  return { throughput: pick((file) => file.throughput), powerW: pick((file) => file.powerW) }
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : meanInterval(values).mean
}

function formatDifferences(differences: readonly RunDifference[]): string {
  const table = new Table({
    head: ['run', 'A, samples/s', 'B, samples/s', 'change', 'p', 'A, W', 'B, W'],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [], compact: true },
  })
  for (const { run, throughputA, throughputB, throughputChangePercent, pValue, powerAW, powerBW } of differences) {
    const marked = pValue !== null && pValue < SIGNIFICANT ? ' *' : ''
    table.push([
      run,
      throughputA.toFixed(1),
      throughputB.toFixed(1),
      `${throughputChangePercent >= 0 ? '+' : ''}${throughputChangePercent.toFixed(2)} %`,
      pValue === null ? '-' : `${pValue < 0.001 ? '< 0.001' : pValue.toFixed(3)}${marked}`,
      powerAW?.toFixed(1) ?? '-',
      powerBW?.toFixed(1) ?? '-',
    ])
  }
  return `${table.toString()}\n* p < ${SIGNIFICANT} by Welch's test: on runs where there are several, else on windows, which understates p`
}
