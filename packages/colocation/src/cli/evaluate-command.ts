import { type CommandFunction, newCommand, parseCommand, type Terminal, UsageError } from '@pctodl/command-line'
import { InvalidInputError } from '@pctodl/platform'
import Table from 'cli-table3'
import type { Evaluation } from '../evaluate/evaluate-method.js'
import { evaluateMethod } from '../evaluate/evaluate-method.js'
import {
  boostedTreesMethod,
  honestLinearMethod,
  type Method,
  oracleMethod,
  publishedMethod,
  ruleMethods,
  slowdownMethod,
} from '../evaluate/method.js'
import { drawPools, type MeasuredPool } from '../evaluate/pool-gain.js'
import { leftOutSplits, type Split, unseenWorkloadSplits } from '../evaluate/splits.js'
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
  const command = newCommand(
    {
      name: 'pctodl-colocate evaluate',
      description: 'Judge the slowdown model, the published model and the rules on the splits of a study.',
      example: 'pctodl-colocate evaluate --study ./my-study',
    },
    terminal,
  )
    .requiredOption('--study <folder>', 'folder with workloads.csv, colocations2.csv, ... and possibly splits')
    .option('--only <text>', 'only the sections whose title holds this, e.g. "n_occur 3"')
    .option('--all-rules', 'show every rule, not only the two best known')
    .option('--json', 'print the figures as JSON on standard output')
  await parseCommand(command, argv)
  const {
    study: folder,
    only,
    allRules,
    json,
  } = command.opts<{
    study: string
    only?: string
    allRules?: boolean
    json?: boolean
  }>()
  const methods = allRules
    ? [slowdownMethod, boostedTreesMethod, publishedMethod, honestLinearMethod, ...ruleMethods, oracleMethod]
    : [
        slowdownMethod,
        boostedTreesMethod,
        publishedMethod,
        honestLinearMethod,
        ...ruleMethods.slice(0, 3),
        oracleMethod,
      ]
  const all = sectionsOf(readStudy(folder))
  const chosen = all.filter(({ title }) => only === undefined || title.includes(only))
  if (chosen.length === 0) {
    throw new UsageError(
      `--only ${only}: no such section; there are ${all.map(({ title }) => `'${title}'`).join(', ')}`,
    )
  }
  const sections = chosen.map((section) => {
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
    ...[...colocations].map(([size, rows]) => ({
      title: `unseen batch size, ${size} members`,
      splits: unseenWorkloadSplits(rows, 'batch size'),
      pools: [],
    })),
    ...[...colocations].map(([size, rows]) => ({
      title: `left-out groups, ${size} members, all sizes learnt`,
      splits: leftOutSplits(
        rows,
        [...colocations].flatMap(([other, some]) => (other === size ? [] : some)),
      ),
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
    head: [
      'method',
      'MSE',
      'MAPE %',
      'rank corr.',
      'gain',
      'std',
      'regret /s',
      'in 90 %',
      'width %',
      'pools',
      'training ms',
    ],
    style: { head: [], border: [] },
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'right', 'right', 'right', 'right', 'right'],
  })
  for (const evaluation of evaluations) {
    const { method, accuracy, gain, gainDeviation, regretPerS, poolGain, trainingMs } = evaluation
    table.push([
      method,
      accuracy?.mse.toFixed(3) ?? '',
      accuracy?.mapePercent.toFixed(1) ?? '',
      accuracy?.spearman.toFixed(3) ?? '',
      gain.toFixed(3),
      gainDeviation.toFixed(3),
      regretPerS.toFixed(1),
      evaluation.memberCoverage?.toFixed(3) ?? '',
      evaluation.memberWidthPercent?.toFixed(0) ?? '',
      poolGain?.toFixed(3) ?? '',
      trainingMs?.toFixed(1) ?? '',
    ])
  }
  return `${title} (mean of ${splits} splits)\n${table.toString()}\n`
}
