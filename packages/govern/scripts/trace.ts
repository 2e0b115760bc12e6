import { drawTrial, runGoverned } from '../test/virtual-trials.js'

const [, , kind, seed, seconds] = process.argv
let i = 0
const before: number[] = []
const run = await runGoverned(drawTrial(kind as never, Number(seed), Number(seconds)), async (law, server) => {
  i++
  const c = server.counters()
  if (!c.some((x, k) => x.late > (before[k] ?? 0)) && i % 20) return
  console.log(
    (i / 2).toFixed(0).padStart(4),
    (await server.telemetry()).smClockMhz,
    'knee',
    law.power.kneeMhz.toFixed(0),
    law.services
      .map(
        (s, k) =>
          `${s.service.name} now ${s.rates[1].toFixed(0)} ready ${s.rates[0].toFixed(0)} q ${c[k]!.queued} late ${c[k]!.late - (before[k] ?? 0)} est ${s.lateShare.toFixed(3)} A ${[600, 900, 1200, 1500, 1950].map((f) => (100 * s.attainmentAt(f, s.rates[1], false)).toFixed(1)).join(' ')}`,
      )
      .join(' | '),
  )
  c.forEach((x, k) => {
    before[k] = x.late
  })
})
console.log(run.attainment, run.joules, run.clocksMhz.join(' '))
