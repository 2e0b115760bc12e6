/**
 * What `pctodl sweep` loses against a full sweep, on the settled truth of the simulated boards and their variants: for each way to
 * sweep and set of tenants the regret in samples per joule, and the points that it took.
 *
 *   pnpm --filter @pctodl/profiler sweep-regret [variants a board, default 4]
 */
import { calibratedBoards } from '@pctodl/gpu-sim'
import { sweepRegrets } from './sweep-regrets.js'

const variants = Number(process.argv[2] ?? 4)
console.log('| board | over | tenants | cases | regret: median | 95 % | worst, % | where | above 2 % |')
console.log('|---|---|---|---|---|---|---|---|---|')
for (const board of calibratedBoards) {
  for (const over of ['clocks', 'limits'] as const) {
    const cases = await sweepRegrets(board, over, variants)
    for (const tenants of [...new Set(cases.map((entry) => entry.tenants))]) {
      const own = cases.filter((entry) => entry.tenants === tenants).sort((a, b) => a.regret - b.regret)
      const at = (share: number) => (100 * own[Math.floor(share * (own.length - 1))]!.regret).toFixed(2)
      const worst = own.at(-1)!
      const missed = own.filter(({ regret }) => regret > 0.02).length
      console.log(
        `| ${board} | ${over} | ${tenants} | ${own.length} | ${at(0.5)} | ${at(0.95)} | ${at(1)} | ${worst.truth}, ${worst.model} | ${missed} |`,
      )
    }
  }
}
