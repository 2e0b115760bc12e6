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
  const isUsual = !real && variant === undefined && parametersFolder === undefined && powerMarginW === 0 && !shadow
  if (isServed(task)) return undefined
  const isPlain =
    !task.mix && !task.latencyOfEqualSplit && task.latencyFactor === undefined && task.latencyMs === undefined
  const durationS = (iterations * WINDOW_MS) / 1000
  if (!isUsual || !isPlain || !inPlayground.includes(algorithm) || durationS > LONGEST_S) return undefined
  const caps = capsOf(task, WINDOW_MS).map(({ atMs, powerCapW }) =>
    atMs === 0 ? `${powerCapW}` : `${powerCapW}@${atMs / 1000}`,
  )
  return (
    `#/run?gpu=${task.board}&model=${networksOf(task)[0]}&caps=${caps.join(',')}&policies=${algorithm}` +
    `&seed=${seed}&seconds=${durationS}`
  )
}

/**
 * Address of the playground as the report links to it.
 *
 * @param asked an address, or the folder or file of an exported playground; undefined for the folder `playground` beside the report, if it exists
 * @param out folder of the report
 * @returns the address, relative to the report for a local playground; undefined if there is no playground
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
