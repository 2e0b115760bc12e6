import { type CommandFunction, inHouseStyle, newCommand, parseCommand, type Terminal } from '@pctodl/command-line'
import { InvalidInputError } from '@pctodl/platform'
import Table from 'cli-table3'
import type { Evaluation } from '../evaluate/evaluate-method.js'
import { evaluateMethod } from '../evaluate/evaluate-method.js'
import {
  honestLinearMethod,
  type Method,
  oracleMethod,
  publishedMethod,
  ruleMethods,
  slowdownMethod,
} from '../evaluate/method.js'
import { drawPools, type MeasuredPool } from '../evaluate/pool-gain.js'
import { type Split, unseenWorkloadSplits } from '../evaluate/splits.js'
import { readStudy, type Study } from './study-folder.js'

interface Section {
  readonly title: string
  readonly splits: readonly Split[]
  readonly pools: readonly MeasuredPool[]
}

/** Pools of eight that the models of each n_occur split divide into pairs. */
const POOLS = 100
const POOL_SEED = 1

interface EvaluatedSection {
  readonly title: string
  readonly splits: number
  readonly evaluations: readonly Evaluation[]
}

/** `pctodl-colocate evaluate`: how well models and rules predict and choose on a study's splits. */
export const evaluateCommand: CommandFunction = async (argv, terminal) => {
  const command = inHouseStyle(
    newCommand(
      {
        name: 'pctodl-colocate evaluate',
        description: 'Judge the slowdown model, the published model and the rules on the splits of a study.',
        example: 'pctodl-colocate evaluate --study ./my-study',
      },
      terminal,
    ),
    terminal.stdout,
  )
    .requiredOption('--study <folder>', 'folder with workloads.csv, colocations2.csv, ... and possibly splits')
    .option('--all-rules', 'show every rule, not only the two best known')
    .option('--json', 'print the figures as JSON on standard output')
  await parseCommand(command, argv)
  const { study: folder, allRules, json } = command.opts<{ study: string; allRules?: boolean; json?: boolean }>()
  const methods = allRules
    ? [slowdownMethod, publishedMethod, honestLinearMethod, ...ruleMethods, oracleMethod]
    : [slowdownMethod, publishedMethod, honestLinearMethod, ...ruleMethods.slice(0, 3), oracleMethod]
  const sections = sectionsOf(readStudy(folder)).map((section) => {
    terminal.signal.throwIfAborted()
    terminal.stderr.write(`${section.title}: ${section.splits.length} splits\n`)
    return evaluateSection(section, methods, terminal)
  })
  terminal.stdout.write(json ? `${JSON.stringify(sections, null, 2)}\n` : sections.map(formatSection).join('\n'))
  return 0
}

function sectionsOf({ colocations, occurrenceSplits, ratioSplits }: Study): Section[] {
  const pools = drawPools(colocations.get(2) ?? [], occurrenceSplits.size > 0 ? POOLS : 0, POOL_SEED)
  return [
    ...[...occurrenceSplits].map(([level, splits]) => ({ title: `pairs, n_occur ${level}`, splits, pools })),
    ...[...ratioSplits].map(([level, splits]) => ({ title: `triples, train ratio ${level}`, splits, pools: [] })),
    ...[...colocations].map(([size, rows]) => ({
      title: `unseen workload, ${size} members`,
      splits: unseenWorkloadSplits(rows),
      pools: [],
    })),
  ]
}

function evaluateSection(
  { title, splits, pools }: Section,
  methods: readonly Method[],
  { stderr }: Terminal,
): EvaluatedSection {
  const evaluations = methods.flatMap((method) => {
    try {
      return [evaluateMethod(method, splits, { pools, now: () => performance.now() })]
    } catch (error) {
      // Some methods need more workloads than a study has; the others are still worth seeing.
      if (!(error instanceof InvalidInputError)) throw error
      stderr.write(`${title}: ${method.name} is left out: ${error.message}\n`)
      return []
    }
  })
  return { title, splits: splits.length, evaluations }
}

function formatSection({ title, splits, evaluations }: EvaluatedSection): string {
  const table = new Table({
    head: ['method', 'MSE', 'MAPE %', 'rank corr.', 'gain', 'std', 'regret /s', 'pools', 'training ms'],
    style: { head: [], border: [] },
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'right', 'right', 'right'],
  })
  for (const { method, accuracy, gain, gainDeviation, regretPerS, poolGain, trainingMs } of evaluations) {
    table.push([
      method,
      accuracy?.mse.toFixed(3) ?? '',
      accuracy?.mapePercent.toFixed(1) ?? '',
      accuracy?.spearman.toFixed(3) ?? '',
      gain.toFixed(3),
      gainDeviation.toFixed(3),
      regretPerS.toFixed(1),
      poolGain?.toFixed(3) ?? '',
      trainingMs?.toFixed(1) ?? '',
    ])
  }
  return `${title} (mean of ${splits} splits)\n${table.toString()}\n`
}
