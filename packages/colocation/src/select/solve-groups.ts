import type { LegacyHighs } from 'highs'
import { type CandidateGroup, countByPlace } from './candidate-groups.js'

/** Loading takes some 100 ms, so it is done once, when it is first needed. */
let loading: Promise<LegacyHighs> | undefined

/**
 * The best choice of groups that places each job once on at most `gpus` GPUs: set partitioning as an integer program, solved
 * by HiGHS (WebAssembly) without a gap.
 *
 * @returns the members of each group; null where there is none
 */
export async function solveGroups(
  candidates: readonly CandidateGroup[],
  pool: readonly number[],
  gpus: number,
): Promise<(readonly number[])[] | null> {
  const counts = countByPlace(pool)
  const covered = new Set(candidates.flatMap(({ members }) => members))
  if ([...counts.keys()].some((place) => !covered.has(place))) return null
  loading ??= import('highs').then(({ default: load }) => load())
  const highs = await loading
  const solved = highs.solve(toLpText(candidates, counts, gpus), {
    mip_rel_gap: 0,
    mip_abs_gap: 1e-9,
    output_flag: false,
  })
  if (solved.Status !== 'Optimal') return null
  const columns = solved.Columns as Readonly<Record<string, { readonly Primal?: number }>>
  return candidates.flatMap(({ members }, i) => {
    const times = Math.round(columns[`g${i}`]?.Primal ?? 0)
    return Array.from({ length: times }, () => members)
  })
}

/** One term a line: HiGHS reads only short lines. */
function toLpText(candidates: readonly CandidateGroup[], counts: ReadonlyMap<number, number>, gpus: number): string {
  const uses = new Map([...counts.keys()].map((place) => [place, [] as string[]]))
  candidates.forEach(({ members }, i) => {
    for (const [place, times] of countByPlace(members)) uses.get(place)!.push(`+ ${times} g${i}`)
  })
  return [
    'Maximize',
    ' value:',
    ...candidates.map(({ value }, i) => `+ ${value} g${i}`),
    'Subject To',
    ...[...counts].flatMap(([place, count]) => [` job${place}:`, ...uses.get(place)!, ` = ${count}`]),
    ' gpus:',
    ...candidates.map((_, i) => `+ g${i}`),
    ` <= ${gpus}`,
    'General',
    ...candidates.map((_, i) => `g${i}`),
    'End',
    '',
  ].join('\n')
}
