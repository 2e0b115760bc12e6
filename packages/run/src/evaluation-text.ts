import type { Evaluation } from '@pctodl/report/evaluate'

/** Summarizes a run as text: cap, throughput, energy. */
export function evaluationText({ source, whole, steady, steps }: Evaluation, notes: readonly string[]): string {
  const rows: (readonly [name: string, text: string])[] = [
    ['power by', source === 'true' ? 'the simulated truth' : "the board's sensor"],
    ['throughput', withUnit(whole.throughput, 1, 'samples/s')],
    ['within the cap', withUnit(whole.compliantThroughput, 1, 'samples/s in seconds that kept it')],
    ['above the cap', withUnit(whole.violationPercent, 2, '% of the time (1 s average, by more than 1 %)')],
    ['in steady state', withUnit(steady.violationPercent, 2, '% of the time')],
    ['longest above', withUnit(whole.longestExcessMs / 1000, 1, 's')],
    ['cap used', withUnit(steady.capUtilisationPercent, 1, '% in steady state')],
    ['energy', withUnit(whole.energyPerSampleJ, 4, 'J a sample')],
    ...steps.map(
      ({ fromW, toW, settlingMs }) =>
        [
          `${fromW} to ${toW} W`,
          settlingMs === null ? 'not settled before the end' : `settled after ${(settlingMs / 1000).toFixed(1)} s`,
        ] as const,
    ),
    ...notes.map((note) => ['note', note] as const),
  ]
  return rows.map(([name, text]) => `${name.padEnd(16)} ${text}\n`).join('')
}

/** A figure is unknown if its part of the run is too short. */
function withUnit(value: number | null | undefined, digits: number, unit: string): string {
  return value === null || value === undefined ? 'not known' : `${value.toFixed(digits)} ${unit}`
}
