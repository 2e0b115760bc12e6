import { type Backend, type BackendKind, backendKinds, openBackend } from '@pctodl/backend'
import {
  asUsage,
  given,
  integerFrom,
  listOf,
  type newCommand,
  numberBetween,
  oneOf,
  positiveNumber,
  UsageError,
} from '@pctodl/command-line'
import { networkName, type Tenant } from '@pctodl/platform'
import type { MeasureOptions } from './plan/profile-plan.js'

/** Options of `pctodl profile` and `pctodl sweep`, as typed: which board, which tenants, and how long to measure. */
export interface BoardOptions {
  readonly backend: BackendKind
  readonly gpu?: string
  readonly seed: number
  readonly dataset?: string
  readonly worker?: string
  readonly mps: boolean
  readonly model?: string[]
  readonly shares?: number[]
  readonly batches?: number[]
  readonly warmupSeconds?: number
  readonly measureSeconds?: number
  readonly json?: boolean
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
    .option(
      '--shares <percent...>',
      'MPS shares of the tenants, percent (default 100)',
      listOf(numberBetween(0.01, 100)),
    )
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
export function boardOf({ backend, gpu }: Pick<BoardOptions, 'backend' | 'gpu'>): string {
  if (gpu === undefined && backend === 'sim') {
    throw new UsageError('--backend sim needs --gpu, the board to simulate, such as 3080Ti or A100')
  }
  return gpu ?? '0'
}

/**
 * Opens the selected board.
 *
 * @throws UsageError if the board is simulated and an option applies only to real boards
 */
export async function openAsked(options: BoardOptions, onMessage: (message: string) => void): Promise<Backend> {
  const { backend: kind, seed, worker, dataset, mps } = options
  const real = { ...given({ worker, dataset }), mps, onMessage }
  const backend = await openBackend({ kind, gpu: boardOf(options), seed, real })
  const stray = worker !== undefined ? '--worker' : dataset !== undefined ? '--dataset' : mps ? undefined : '--no-mps'
  if (backend.kind !== 'sim' || stray === undefined) return backend
  await backend.close()
  throw new UsageError(`${stray} is for a real board, and this one is simulated; leave it out, or use --backend nvml`)
}

/**
 * Returns the tenants. If only one network, share or batch size is given, it applies to all tenants, as in the Python
 * code. A worker of the user's own may know networks of its own.
 */
export function tenantsOf(
  { model, shares = [100], batches, worker }: BoardOptions,
  otherwise: { readonly model: readonly string[]; readonly batches: readonly number[] },
): Tenant[] {
  const sizes = batches ?? otherwise.batches
  const models = model?.map((name) => networkOf(name, worker)) ?? otherwise.model
  const count = Math.max(shares.length, sizes.length)
  const spread = <T>(values: readonly T[]): readonly T[] =>
    values.length === 1 ? Array<T>(count).fill(values[0]!) : values
  const [allShares, allSizes, allModels] = [spread(shares), spread(sizes), spread(models)]
  if (allShares.length !== allSizes.length) {
    throw new UsageError(
      `--shares has ${shares.length} values and --batches ${sizes.length}; give as many, or a single one for all tenants`,
    )
  }
  const sum = allShares.reduce((total, share) => total + share, 0)
  if (sum > 100) throw new UsageError(`--shares sum to ${sum} %, at most 100 are there`)
  if (allModels.length !== count) {
    throw new UsageError(
      `--model names ${models.length} networks for ${count} tenants; give one for all, or one for each`,
    )
  }
  return allShares.map((mpsPercent, i) => ({ model: allModels[i]!, mpsPercent, batchSize: allSizes[i]! }))
}

/** The network of a name. Only workers of this project limit the names. */
export function networkOf(name: string, worker: string | undefined): string {
  return worker === undefined ? asUsage(() => networkName(name)) : name
}

/**
 * Converts the command line's measuring times from seconds to milliseconds. Options that were not given are absent.
 */
export function measureOf({ warmupSeconds, measureSeconds }: BoardOptions): Partial<MeasureOptions> {
  return given({
    settleMinMs: warmupSeconds && 1000 * warmupSeconds,
    windowMinMs: measureSeconds && 1000 * measureSeconds,
  })
}
