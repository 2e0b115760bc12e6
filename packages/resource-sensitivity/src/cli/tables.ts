import Table from 'cli-table3'
import { matrixAxes, minDemand, type SensitivityMatrix } from '../profile/sensitivity-matrix.js'
import type { ScheduleSummary } from '../summarize.js'

/**
 * Formats one line per schedule. The gain of a schedule is the mean completion time under `baseline` (with the same
 * policy), divided by the mean completion time of the schedule.
 */
export function formatScheduleTable(rows: readonly ScheduleSummary[], baseline?: string): string {
  const cells = rows.map((row) => ({
    policy: row.policy,
    mechanism: row.mechanism,
    jobs: String(row.jobs),
    mean: hours(row.meanCompletionS),
    median: hours(row.medianCompletionS),
    p99: hours(row.p99CompletionS),
    ...(baseline !== undefined && { gain: gain(rows, row, baseline) }),
    makespan: hours(row.makespanS),
    queueing: hours(row.meanQueueingS),
    GPU: percent(row.gpuPercent),
    CPU: percent(row.cpuPercent),
    memory: percent(row.memoryPercent),
    rho: row.meanRho.toFixed(2),
    fairness: row.fairnessIndex.toFixed(2),
    restarts: row.restarts.toFixed(0),
  }))
  return formatTable(Object.keys(cells[0]!), cells.map(Object.values), 2)
}

function hours(seconds: number): string {
  return `${(seconds / 3600).toFixed(2)} h`
}

function percent(value: number): string {
  return `${value.toFixed(1)} %`
}

function gain(rows: readonly ScheduleSummary[], row: ScheduleSummary, baseline: string): string {
  const base = rows.find(({ policy, mechanism }) => policy === row.policy && mechanism === baseline)
  return base === undefined ? '-' : `${(base.meanCompletionS / row.meanCompletionS).toFixed(3)}x`
}

/** Formats samples per second, with core counts as rows and cached fractions as columns; * marks measured cells. */
export function formatMatrixTable(matrix: SensitivityMatrix): string {
  const { cpus, memoryGb, at } = matrixAxes(matrix.points)
  const head = ['cores', ...memoryGb.map((memory) => `${at(cpus[0]!, memory).memPercent} %`), 'range']
  const rows = cpus.map((cpu) => {
    const full = at(cpu, memoryGb.at(-1)!)
    const cells = memoryGb.map((memory) => {
      const { samplesPerSecond, source } = at(cpu, memory)
      return `${rounded(samplesPerSecond)}${source === 'measured' ? '*' : ''}`
    })
    return [String(cpu), ...cells, `${rounded(full.samplesPerSecondLow)}..${rounded(full.samplesPerSecondHigh)}`]
  })
  const demand = minDemand(matrix)
  const runs = `${matrix.runs} ${matrix.runs === 1 ? 'run' : 'runs'}`
  return (
    `${formatTable(head, rows)}\nsamples per second by cores and cached fraction of the data set; * measured, ${runs}; range of the last column\n` +
    `knee: ${matrix.kneeCpu} cores; asks for ${demand.cpu} cores and ${demand.memGb.toPrecision(3)} GB`
  )
}

function rounded(rate: number): string {
  return rate >= 100 ? rate.toFixed(0) : rate.toPrecision(3)
}

/** Formats a table whose first `texts` columns are text and whose other columns are numbers. */
function formatTable(head: string[], rows: readonly string[][], texts = 0): string {
  const colAligns = head.map((_, column) => (column < texts ? 'left' : 'right'))
  const table = new Table({ head, colAligns, style: { head: [], border: [], compact: true } })
  table.push(...rows)
  return table.toString()
}
