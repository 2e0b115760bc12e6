import { type BackendKind, backendKinds } from '@pctodl/backend'
import {
  integerFrom,
  listOf,
  type newCommand,
  numberBetween,
  oneOf,
  positiveNumber,
  UsageError,
} from '@pctodl/command-line'
import type { MeasureOptions } from './plan/profile-plan.js'

/** Options of `pctodl profile` and `pctodl sweep`, as typed: which board, and how long to measure. */
export interface BoardOptions {
  readonly backend: BackendKind
  readonly gpu?: string
  readonly seed: number
  readonly dataset?: string
  readonly worker?: string
  readonly mps: boolean
  readonly shares?: number[]
  readonly warmupSeconds?: number
  readonly measureSeconds?: number
}

export function addBoardOptions(command: ReturnType<typeof newCommand>): ReturnType<typeof newCommand> {
  return command
    .option('--backend <kind>', `${backendKinds.join(', ')}: simulated or real board`, oneOf(...backendKinds), 'auto')
    .option('--gpu <board>', 'index of a real board (default 0); name of a simulated one, such as 3080Ti or A100')
    .option('--dataset <folder>', 'folder of images (Tiny ImageNet, Caltech-256 ...); default: synthetic images')
    .option(
      '--worker <kind>',
      'processes on a real board: torch, onnx, or a command that speaks the protocol (default: torch)',
    )
    .option('--no-mps', 'real board: no MPS daemon; tenants take turns and shares have no effect')
    .option('--seed <n>', 'seed of the order, of random mixes, and of a simulated board', integerFrom(0), 1)
    .option('--shares <percent...>', 'MPS shares of the tenants, percent (default 100)', listOf(shareOf('--shares')))
    .option(
      '--warmup-seconds <s>',
      'shortest warm-up (default 5; it ends when power and throughput are stable)',
      positiveNumber('seconds'),
    )
    .option(
      '--measure-seconds <s>',
      'shortest measuring window (default 4; it grows until the errors are small)',
      positiveNumber('seconds'),
    )
}

/** The board that `--gpu` selects; without `--gpu`, the first real board. A simulated board must be named. */
export function boardOf({ backend, gpu }: { readonly backend: BackendKind; readonly gpu?: string }): string {
  if (gpu !== undefined) return gpu
  if (backend === 'sim')
    throw new UsageError('--backend sim needs --gpu, the board to simulate, such as 3080Ti or A100')
  return '0'
}

/**
 * Returns one share and one batch size per tenant. If only one share or one batch size is given, it applies to all
 * tenants, as in the Python code.
 */
export function perTenant(
  p: readonly number[],
  b: readonly number[],
): { readonly shares: number[]; readonly batches: number[] } {
  const count = Math.max(p.length, b.length)
  const spread = (values: readonly number[]) =>
    values.length === 1 ? Array<number>(count).fill(values[0]!) : [...values]
  const shares = spread(p)
  const batches = spread(b)
  if (shares.length !== batches.length) {
    throw new UsageError(
      `--shares has ${p.length} values and --batches ${b.length}; give as many, or a single one for all tenants`,
    )
  }
  const sum = shares.reduce((total, share) => total + share, 0)
  if (sum > 100) throw new UsageError(`--shares sum to ${sum} %, at most 100 are there`)
  return { shares, batches }
}

/**
 * Converts the command line's measuring times from seconds to milliseconds. Options that were not given are absent.
 */
export function measureOf({
  warmupSeconds,
  measureSeconds,
}: {
  readonly warmupSeconds?: number
  readonly measureSeconds?: number
}): Partial<MeasureOptions> {
  return {
    ...(warmupSeconds === undefined ? {} : { settleMinMs: 1000 * warmupSeconds }),
    ...(measureSeconds === undefined ? {} : { windowMinMs: 1000 * measureSeconds }),
  }
}

/** Parser of an option that is a tenant's share, percent. */
function shareOf(option: string) {
  const parse = numberBetween(0, 100)
  return (text: string): number => {
    const value = parse(text)
    if (value === 0) throw new UsageError(`${option}: a share of 0 % runs nothing`)
    return value
  }
}
