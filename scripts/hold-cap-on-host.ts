/**
 * Runs the online loop in real time for five minutes against real processes: `pctodl run` on a simulated host (real
 * NVML calls, a real MPS daemon, a process for each tenant). The cap steps down and up; the board's true power is
 * judged.
 *
 *   pnpm tsx --conditions=@pctodl/source scripts/hold-cap-on-host.ts [seconds]
 */
import { runOnHost } from '../packages/run/test/run-on-host.js'

const durationS = Number(process.argv[2] ?? 300)
const third = Math.round(durationS / 3)
const { evaluation, recording, exitCode, clockLeft, processesLeft, events } = await runOnHost({
  board: 'A100',
  model: 'resnet50',
  caps: [
    [0, 150],
    [third, 120],
    [2 * third, 170],
  ],
  durationS,
  options: ['--mps-step', '25'],
  onLine: (line) => console.error(line),
})
const { steady, whole, steps, energyCounterRatio } = evaluation
console.log(`exit code ${exitCode}; SM clock left at ${clockLeft}; processes left: ${processesLeft || 'none'}`)
console.log(
  `samples of power: ${recording.power.timeMs.length}, longest gap ${longestGapMs(recording.power.timeMs)} ms`,
)
console.log(
  `steady: ${steady.violationPercent?.value.toFixed(2)} % of the time above the cap (1 s), ` +
    `${steady.violationTenSecondsPercent?.toFixed(2)} % (10 s), violation energy ${steady.excessEnergyPercent?.value.toFixed(4)} %, ` +
    `${steady.capUtilisationPercent?.value.toFixed(1)} % of the cap used, ${steady.throughput?.value.toFixed(0)} samples/s`,
)
console.log(
  `whole: longest above the cap ${whole.longestExcessMs.toFixed(0)} ms, energy counter over truth ${energyCounterRatio?.toFixed(3)}`,
)
for (const { fromW, toW, settlingMs } of steps) {
  console.log(
    `${fromW} -> ${toW} W: ${settlingMs === null ? 'not settled' : `settled after ${settlingMs.toFixed(0)} ms`}`,
  )
}
console.log(`${events.length} events`)
process.exitCode = exitCode === 0 && (steady.violationPercent?.value ?? 100) <= 1 ? 0 : 1

function longestGapMs(times: readonly number[]): number {
  return Math.round(Math.max(...times.map((time, i) => time - (times[i - 1] ?? 0))))
}
