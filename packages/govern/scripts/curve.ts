import { drawTrial, runFixed } from '../test/virtual-trials.js'

for (const [kind, seed] of [
  ['bursts', 1],
  ['bursts', 2],
  ['steps', 2],
  ['over-dispersed', 3],
] as const) {
  const trial = drawTrial(kind, seed, 60)
  console.log(trial.board, kind, seed)
  for (const f of [210, 300, 450, 600, 750, 900, 1005, 1110, 1200, 1305, 1410]) {
    const r = await runFixed(trial, f)
    process.stdout.write(`${f}: ${r.joules.toFixed(0)} ${(100 * r.attainment).toFixed(2)}; `)
  }
  console.log()
}
