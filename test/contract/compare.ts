/** Two implementations side by side on the same stories: what a redesign is judged by before it replaces what is there. */

import type { Fault } from '@pctodl/gpu-sim'
import { mean, SeededRandom } from '@pctodl/numerics'
import {
  attainment,
  between,
  changesPerMinute,
  judgeCap,
  meanThroughput,
  meanW,
  type PolicyOf,
  type Story,
  steps,
  type Told,
  tell,
} from './harness.js'

export interface Implementation {
  readonly name: string
  readonly policyOf: PolicyOf
}

const measures: Readonly<Record<string, (told: Told, story: Story) => number>> = {
  'above %': (told) => 100 * judgeCap(told).aboveShare,
  'longest s': (told) => judgeCap(told).longestAboveMs / 1000,
  'samples/s': (told) => meanThroughput(between(told, 10)),
  'power W': (told) => meanW(between(told, 10)),
  'changes/min': (told) => changesPerMinute(told, 10),
  'in time %': (told, { demands = [] }) => 100 * mean(demands.map(({ service }) => attainment(told, service.name, 10))),
}

/** What both came to on each story; an implementation that throws has no figures, and says why. */
export interface Pair {
  readonly story: string
  readonly figures: readonly { readonly measure: string; readonly a: number; readonly b: number }[]
  readonly failures: readonly string[]
}

export async function compareImplementations(
  a: Implementation,
  b: Implementation,
  stories: readonly Story[],
  print: (line: string) => void = console.log,
): Promise<Pair[]> {
  const pairs: Pair[] = []
  for (const story of stories) {
    const failures: string[] = []
    const judge = async ({ name, policyOf }: Implementation): Promise<Told | undefined> => {
      try {
        return await tell(story, policyOf)
      } catch (error) {
        failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
        return undefined
      }
    }
    const [one, other] = [await judge(a), await judge(b)]
    const figures = Object.entries(measures)
      .filter(([name]) => story.demands !== undefined || name !== 'in time %')
      .map(([measure, of]) => ({
        measure,
        a: one ? of(one, story) : Number.NaN,
        b: other ? of(other, story) : Number.NaN,
      }))
    pairs.push({ story: story.name, figures, failures })
    print(`${story.name}${failures.map((failure) => `\n  ${failure}`).join('')}`)
    for (const figure of figures) print(row(figure))
  }
  print(`\nmean over ${pairs.length} stories (${a.name}, ${b.name})`)
  for (const measure of Object.keys(measures)) {
    const both = pairs.flatMap(({ figures }) =>
      figures.filter((each) => each.measure === measure && !Number.isNaN(each.a + each.b)),
    )
    if (both.length > 0)
      print(row({ measure, a: mean(both.map((each) => each.a)), b: mean(both.map((each) => each.b)) }))
  }
  return pairs
}

const row = ({ measure, a, b }: Pair['figures'][number]): string =>
  `  ${measure.padEnd(12)} ${a.toFixed(2).padStart(10)} ${b.toFixed(2).padStart(10)} ${(b - a >= 0 ? '+' : '') + (b - a).toFixed(2)}`

/** Stories that nobody has looked at: boards, networks, caps and faults drawn by a seed. */
export function drawnStories(count: number, seed: number): Story[] {
  const random = new SeededRandom(seed)
  const one = <T>(list: readonly T[]): T => list[random.integer(list.length)]!
  const atMs = () => 10_000 + random.integer(20_000)
  const faults: readonly (() => Fault[])[] = [
    () => [],
    () => [],
    () => [{ kind: 'telemetry-failing', atMs: atMs(), durationMs: 5000 }],
    () => [{ kind: 'client-killed', atMs: atMs() }],
    () => [{ kind: 'client-hung', atMs: atMs(), durationMs: 4000 }],
    () => [{ kind: 'setter-refused', setter: 'sm-clock', atMs: atMs(), durationMs: 5000 }],
    () => [{ kind: 'sensor-bias', gainPercent: -8, atMs: atMs() }],
    () => [{ kind: 'thermal-slowdown', atMs: atMs(), durationMs: 4000 }],
  ]
  return Array.from({ length: count }, (_, i): Story => {
    const board = one(['A100', '3080Ti', `A100~v${1 + random.integer(8)}`, `3080Ti~v${1 + random.integer(8)}`])
    const [low, high] = board.startsWith('A100') ? [100, 240] : [130, 330]
    const capsW = Array.from({ length: 1 + random.integer(4) }, () => low! + random.integer(high! - low!))
    const model = one(['resnet50', 'mobilenet_v2', 'densenet201', 'vgg19', 'mnasnet1_0'])
    const drawn = one(faults)()
    const everyS = one([5, 10, 20])
    const name = `${i + 1}. ${board}, ${model}, ${capsW.join(' -> ')} W each ${everyS} s${drawn.map(({ kind }) => `, ${kind}`).join('')}`
    return { name, board, model, caps: steps(everyS, ...capsW), seconds: 50, faults: drawn, seed: seed + i }
  })
}
