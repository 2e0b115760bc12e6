import { parseColocationTable, parseWorkloadTable, SlowdownModels } from '@pctodl/colocation'

/** Learn from tables of measurements (texts of CSV files) and say what workloads would do together. */
export function expectation(workloadsCsv: string, pairsCsv: string, names: readonly string[]): string {
  const catalog = parseWorkloadTable(workloadsCsv)
  const model = SlowdownModels.fit(parseColocationTable(pairsCsv, catalog))
  const { keptShares, throughputSum, throughputSumInterval } = model.predict(catalog.all(names))
  const { low, high } = throughputSumInterval
  const kept = names.map((name, i) => `${name} keeps ${(100 * keptShares[i]!).toFixed(0)} %`).join(', ')
  return `${kept}; ${throughputSum.toFixed(1)} samples/s in sum (${low.toFixed(1)} to ${high.toFixed(1)})`
}
