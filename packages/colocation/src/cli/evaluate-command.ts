import { type CommandFunction, newCommand, parseCommand, UsageError } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { type Evaluation, evaluateMethod, fastestAloneMethod, slowdownMethod } from '../evaluate/evaluate-method.js'
import { leftOutSplits, type Split, unseenWorkloadSplits } from '../evaluate/splits.js'
import { readStudy, type Study } from '../tables/study-tables.js'
import { formatTable } from './table.js'

const methods = [slowdownMethod, fastestAloneMethod]

export const evaluateCommand: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl colocate evaluate',
      description:
        'Evaluate the slowdown model on held-out parts of a study: fifths of its groups, batch sizes, whole networks.',
      example: 'pctodl colocate evaluate --study ./my-study --only "left-out groups"',
    },
    terminal,
  )
    .requiredOption('--study <folder>', 'folder with workloads.csv, colocations2.csv, ...')
    .option('--only <text>', 'only sections whose title contains this text, e.g. "unseen batch size, 2"')
    .option('--json', 'print the figures as JSON on standard output')
  await parseCommand(command, argv)
  const { study, only = '', json } = command.opts<{ study: string; only?: string; json?: boolean }>()
  const all = sectionsOf(readStudy(study))
  if (all.length === 0) throw new PctodlError('FEW_GROUPS', `${study} has too few groups for a held-out part`)
  const chosen = all.filter(({ title }) => title.includes(only))
  if (chosen.length === 0) {
    throw new UsageError(`--only ${only}: no such section; known: ${all.map(({ title }) => `'${title}'`).join(', ')}`)
  }
  const evaluated = []
  for (const { title, splits } of chosen) {
    terminal.stderr.write(`${title}: ${splits.length} splits\n`)
    const evaluations: Evaluation[] = []
    for (const method of methods) evaluations.push(await evaluateMethod(method, splits, terminal.signal))
    evaluated.push({ title, splits: splits.length, evaluations })
  }
  terminal.stdout.write(
    json
      ? `${JSON.stringify(evaluated, null, 2)}\n`
      : evaluated.map((each) => formatSection(each.title, each.splits, each.evaluations)).join('\n'),
  )
  return 0
}

interface Section {
  readonly title: string
  readonly splits: readonly Split[]
}

function sectionsOf({ colocations }: Study): Section[] {
  const sizes = [...colocations]
  return [
    ...sizes.map(([size, rows]) => ({
      title: `left-out groups, ${size} members, all sizes learnt`,
      splits: leftOutSplits(
        rows,
        sizes.flatMap(([other, some]) => (other === size ? [] : some)),
      ),
    })),
    ...(['batch size', 'batch size between', 'network'] as const).flatMap((unseen) =>
      sizes.map(([size, rows]) => ({
        title: `unseen ${unseen}, ${size} members`,
        splits: unseenWorkloadSplits(rows, unseen),
      })),
    ),
  ].filter(({ splits }) => splits.length > 0 && splits.every(({ train, test }) => train.length > 1 && test.length > 1))
}

function formatSection(title: string, splits: number, evaluations: readonly Evaluation[]): string {
  const columns = ['MSE', 'MAPE %', 'rank corr.', 'gain', 'std', 'regret /s', 'in 90 %', 'width %']
  const digits = [3, 1, 3, 3, 3, 1, 3, 0]
  const rows = evaluations.map(({ method, accuracy, ...choice }) => {
    const { gain, gainDeviation, regretPerS, memberCoverage, memberWidthPercent } = choice
    const errors = [accuracy?.mse, accuracy?.mapePercent, accuracy?.spearman]
    const figures = [...errors, gain, gainDeviation, regretPerS, memberCoverage, memberWidthPercent]
    return [method, ...figures.map((figure, i) => figure?.toFixed(digits[i]) ?? '')]
  })
  return `${title} (mean of ${splits} splits)\n${formatTable(['method', ...columns], rows)}\n`
}
