import type { ProfileRow } from '../measure/profile-row.js'
import { type Preflight, preflightWords } from './preflight.js'
import { probes } from './probe-networks.js'
import type { Proof } from './proof.js'

/** Formats the proof as one page of Markdown. */
export function proofPage(proof: Proof): string {
  const { board, preflight, rows, sensorStep } = proof
  const failed = rows.filter((row) => row.failed)
  const sections = [
    `# ${board.name}, measured`,
    `${proof.description}. UUID ${board.uuid}, driver ${board.driverVersion}, power limit ${board.powerLimitW} W, ${proof.tool}.`,
    `${rows.length} of ${proof.planned} rows measured.`,
    stateText(proof),
    '## Prediction of unseen mixes',
    evaluationText(proof),
    '## What was found',
    table(
      ['', '', ''],
      Object.entries(preflight).map(([key, { works, because }]) => [
        preflightWords[key as keyof Preflight],
        works ? 'yes' : 'no',
        because,
      ]),
    ),
    '## Microbenchmarks',
    probeTable(rows),
    '## Power sensor after the end of a load',
    sensorStep === null
      ? 'Not measured.'
      : table(
          ['reading', 'from, W', 'to, W', 'refreshed every, ms', 'half shown after, ms', '90 % after, ms'],
          (['average', 'instant'] as const).map((field) => {
            const step = sensorStep[field]
            if (step === null) return [field, 'none', '', '', '', '']
            return [
              field,
              ...[step.fromW, step.toW, step.refreshMs, step.halfMs, step.ninetyMs].map((v) => fixed(v, 1)),
            ]
          }),
        ),
    '## What co-runners cost',
    pairTable(rows),
    '## Rows that failed',
    failed.length === 0
      ? 'None.'
      : table(
          ['row', 'sweep', 'status', 'message'],
          failed.map(({ row, sweep, status, message }) => [String(row), sweep, status, message]),
        ),
    'All rows: `rows.csv` and `rows.static.csv`; everything on this page and each row again: `proof.json`.',
  ]
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`
}

/** One line for each kind of rows that are not measured. */
export function stateText({ rows, skipped, left, planned }: Proof): string {
  const failed = rows.filter((row) => row.failed).length
  return [
    ...skipped.map(({ rows: count, because }) => `${count} rows cannot be measured here: ${because}\n`),
    failed > 0 ? `${failed} rows failed; the next call tries them again unless memory was too small\n` : '',
    left > 0 ? `${left} of ${planned} rows are left: run the same command again\n` : '',
  ].join('')
}

/** The main figures of a proof as text, for the page and for the command's output. */
export function evaluationText({ evaluation, notEvaluated }: Proof): string {
  if (evaluation === null) return `Not evaluated: ${notEvaluated}.`
  const { throughput, power, plansAtRisk, fitted, tested } = evaluation
  const line = (name: string, { medianPercent, p95Percent, coveragePercent }: typeof power) => [
    name,
    `${fixed(medianPercent, 2)} %`,
    `${fixed(p95Percent, 2)} %`,
    `${fixed(coveragePercent, 1)} %`,
  ]
  return [
    table(
      ['quantity', 'median error', '95th percentile', 'within the 90 % interval'],
      [line('throughput', throughput), line('power', power)],
    ),
    `Fitted to ${fitted} rows, tested on ${tested} mixes that no fit has seen. ${plansAtRisk} of them draw more than a planner expects at a risk of 5 %.`,
  ].join('\n\n')
}

function probeTable(rows: readonly ProfileRow[]): string {
  const idle = rows.find(({ sweep, failed }) => sweep === 'static' && !failed)
  const lines = probes.flatMap(({ name, flop, bytes }) => {
    const row = rows.find(({ sweep, tenants }) => sweep === 'micro' && tenants[0]!.model === name)
    if (row === undefined) return []
    if (row.failed) return [[name, row.status, '', '', '', '', '']]
    return [
      [
        name,
        fixed((row.throughput * flop) / 1e12, 1),
        fixed((row.throughput * bytes) / 1e9, 0),
        fixed(row.smClockMhz, 0),
        ...powersOf(row),
        fixed((1000 * energyPowerOf(row)) / row.throughput, 3),
      ],
    ]
  })
  if (idle !== undefined) lines.unshift(['idle', '', '', fixed(idle.smClockMhz, 0), ...powersOf(idle), ''])
  if (lines.length === 0) return 'None was measured.'
  return table(['load', 'TFLOP/s', 'GB/s', 'SM MHz', 'W by sensor', 'W by energy', 'mJ a sample'], lines)
}

function powersOf(row: ProfileRow): [string, string] {
  return [fixed(row.powerAverageW, 1), row.energyJ === null ? 'none' : fixed(energyPowerOf(row), 1)]
}

/** Mean power of the window, W: by the energy counter or, without one, by the power sensor. */
function energyPowerOf({ energyJ, windowMs, powerAverageW }: ProfileRow): number {
  return energyJ === null ? powerAverageW : (1000 * energyJ) / windowMs
}

function pairTable(rows: readonly ProfileRow[]): string {
  const measured = rows.filter(({ sweep, failed }) => sweep === 'pairs' && !failed)
  const lines = measured
    .filter(({ tenants }) => tenants.length === 2)
    .flatMap((pair) => {
      const near = measured.filter(({ row }) => Math.abs(row - pair.row) === 1)
      return pair.tenants.flatMap((tenant, i) => {
        const alone = near.find(({ tenants: [only, ...others] }) => others.length === 0 && only!.model === tenant.model)
        if (alone === undefined) return []
        const { model, mpsPercent, batchSize } = tenant
        const other = pair.tenants[1 - i]!
        return [
          [
            `${model} ${mpsPercent} % x ${batchSize}`,
            `${other.model} ${other.mpsPercent} % x ${other.batchSize}`,
            fixed(alone.throughput, 1),
            fixed(pair.tenantThroughput[i]!, 1),
            `${fixed(100 * (1 - pair.tenantThroughput[i]! / alone.throughput), 1)} %`,
          ],
        ]
      })
    })
  if (lines.length === 0) return 'No pair was measured.'
  return table(['tenant', 'co-runner', 'alone, samples/s', 'together', 'lost'], lines)
}

function fixed(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : 'unknown'
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${' --- |'.repeat(head.length)}`, ...lines.map(line)].join('\n')
}
