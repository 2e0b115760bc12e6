import { openSimulated } from '@pctodl/backend'
import { makePlan, type ProfileRow, runPlan, sweepRows } from '@pctodl/profiler'

/** Samples per joule of two equal tenants along the SM clock of an A100. */
export async function alongTheClock(model: string): Promise<string[]> {
  const board = openSimulated({ gpu: 'A100' })
  const { spec } = board.gpu
  const tenant = { model, mpsPercent: 50, batchSize: 16 }
  const planned = sweepRows(spec, {
    sweep: 'single',
    configurations: [[tenant, tenant]],
    smClocks: { stepMhz: 300 },
    memClockMhz: 1215,
  })
  const plan = makePlan(spec, planned, { seed: 1 })
  const rows: ProfileRow[] = []
  await runPlan(board, plan, { onRow: (row) => rows.push(row) })
  return rows
    .sort((a, b) => a.smClockMhz - b.smClockMhz)
    .map(
      ({ smClockMhz, throughput, powerAverageW }) => `${smClockMhz} MHz: ${(throughput / powerAverageW).toFixed(1)}/J`,
    )
}
