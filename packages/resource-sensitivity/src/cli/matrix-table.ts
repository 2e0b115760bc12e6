import { matrixAxes, minDemand, type SensitivityMatrix } from '../profile/sensitivity-matrix.js'
import { formatTable } from '../report/format-table.js'

/**
 * Formats throughput in samples per second. Rows are core counts, columns are cached fractions of the data set; an
 * asterisk marks measured cells.
 */
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
