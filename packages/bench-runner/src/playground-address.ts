import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { UsageError } from '@pctodl/command-line'
import { WINDOW_MS } from '@pctodl/run'
import type { AlgorithmName } from './algorithms.js'
import type { Cell } from './cell.js'
import { capsOf, isServed, networksOf } from './tasks.js'

/** Algorithms that behave the same in the playground as in this benchmark. */
const inPlayground: readonly AlgorithmName[] = ['pctodl', 'morak', 'batchdvfs', 'directcap', 'powercap', 'equal-split']

/** Longest run in the playground, s. */
const LONGEST_S = 3600

/**
 * URL fragment that shows a cell in the playground: board, network, caps, policy, seed and length. Undefined for cells
 * that it cannot run: real boards, other boards or parameters, several networks, latency objectives, other algorithms.
 */
export function playgroundFragment(cell: Cell): string | undefined {
  const { task, algorithm, seed, iterations, variant, real, parametersFolder, powerMarginW, shadow } = cell
  const durationS = (iterations * WINDOW_MS) / 1000
  if (isServed(task) || !inPlayground.includes(algorithm) || durationS > LONGEST_S) return undefined
  const { mix, latencyFactor, latencyMs, latencyOfEqualSplit } = task
  if (real || variant || parametersFolder || powerMarginW > 0 || shadow) return undefined
  if (mix || latencyFactor || latencyMs || latencyOfEqualSplit) return undefined
  const caps = capsOf(task).map(({ atMs, powerCapW }) => (atMs === 0 ? `${powerCapW}` : `${powerCapW}@${atMs / 1000}`))
  return (
    `#/run?gpu=${task.board}&model=${networksOf(task)[0]}&caps=${caps.join(',')}&policies=${algorithm}` +
    `&seed=${seed}&seconds=${durationS}`
  )
}

/**
 * Returns the address of the playground for links in a report: `asked`, which is an address or an exported playground,
 * or the folder `playground` beside the report. Undefined if there is none.
 *
 * @param out folder of the report; the address of a local playground is relative to it
 * @throws UsageError if `asked` is neither an address nor an exported playground
 */
export function playgroundAddress(asked: string | undefined, out: string): string | undefined {
  if (asked !== undefined && /^https?:\/\//i.test(asked)) {
    if (!URL.canParse(asked)) throw new UsageError(`--playground ${asked}: not an address`)
    const { origin, pathname, search } = new URL(asked)
    return `${origin}${pathname}${search}`
  }
  const place = asked ?? path.join(out, 'playground')
  const isFolder = existsSync(place) && statSync(place).isDirectory()
  const file = isFolder ? path.join(place, 'index.html') : place
  if (!existsSync(file)) {
    if (asked === undefined) return undefined
    throw new UsageError(
      `--playground ${asked}: neither an address nor an exported playground; pctodl playground --export ${asked} writes one`,
    )
  }
  return path.relative(path.resolve(out), path.resolve(file)).split(path.sep).map(encodeURIComponent).join('/')
}
