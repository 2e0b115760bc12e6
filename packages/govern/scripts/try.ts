import { drawTrial, kinds, runFixedClocks, runGoverned } from '../test/virtual-trials.js'

const seconds = Number(process.argv[3] ?? 300)
for (
  let seed = Number(process.argv[4] ?? 1);
  seed < Number(process.argv[4] ?? 1) + Number(process.argv[2] ?? 1);
  seed++
)
  for (const kind of kinds) {
    const trial = drawTrial(kind, seed, seconds)
    let t = performance.now()
    const fixed = await runFixedClocks(trial)
    const tf = performance.now() - t
    t = performance.now()
    const run = await runGoverned(trial)
    const tg = performance.now() - t
    const mean = run.clocksMhz.reduce((a, b) => a + b, 0) / run.clocksMhz.length
    console.log(
      `${kind} ${seed} ${trial.board} ${trial.loads.map(({ service }) => service.name + ':' + service.objective.p99Ms.toFixed(0)).join(',')}: alone ${(100 * fixed.alone.attainment).toFixed(2)} ${fixed.alone.joules.toFixed(0)} J; best ${fixed.best.smClockMhz} ${(100 * fixed.best.attainment).toFixed(2)} ${fixed.best.joules.toFixed(0)} J; governed ${mean.toFixed(0)} MHz ${(100 * run.attainment).toFixed(2)} ${(run.joules / fixed.best.joules).toFixed(3)} x; ${tf.toFixed(0)}/${tg.toFixed(0)} ms; ${[...run.reasons].map(([r, n]) => r + ' ' + n).join(', ')}`,
    )
  }
