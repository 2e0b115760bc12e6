import { parseColocationTable, parseWorkloadTable, SlowdownModel } from '@pctodl/colocation'

/** Learn from tables of measurements (texts of CSV files) and say what workloads would do together. */
export function expectation(workloadsCsv: string, colocationsCsv: string, names: readonly string[]): string {
  const catalog = parseWorkloadTable(workloadsCsv)
  const model = SlowdownModel.fit(parseColocationTable(colocationsCsv, catalog))
  const { keptShares, throughputSum, throughputSumInterval: interval } = model.predict(catalog.all(names))
  const kept = names.map((name, i) => `${name} keeps ${(100 * keptShares[i]!).toFixed(0)} %`).join(', ')
  const range = interval ? `${interval.low.toFixed(0)} to ${interval.high.toFixed(0)}` : 'how surely, nobody measured'
  return `${kept}; ${throughputSum.toFixed(0)} samples/s in sum (${range})`
}
