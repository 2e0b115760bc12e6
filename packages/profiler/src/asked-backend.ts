import { type Backend, type BackendKind, openBackend } from '@pctodl/backend'
import { UsageError } from '@pctodl/command-line'

/** The board that the command's options select, and how it was selected. */
export interface AskedBackend {
  readonly backend: BackendKind
  readonly gpu: string
  readonly seed: number
  readonly worker?: string
  readonly dataset?: string
  readonly mps: boolean
}

/**
 * Opens the selected board.
 *
 * @throws UsageError if the board is simulated and an option applies only to real boards
 */
export async function openAsked(
  { backend: kind, gpu, seed, worker, dataset, mps }: AskedBackend,
  onMessage: (message: string) => void,
): Promise<Backend> {
  const backend = await openBackend({
    kind,
    gpu,
    seed,
    real: {
      ...(worker === undefined ? {} : { worker }),
      ...(dataset === undefined ? {} : { dataset }),
      mps,
      onMessage,
    },
  })
  const stray = worker !== undefined ? '--worker' : dataset !== undefined ? '--dataset' : mps ? undefined : '--no-mps'
  if (backend.kind !== 'sim' || stray === undefined) return backend
  await backend.close()
  throw new UsageError(`${stray} is for a real board, and this one is simulated; leave it out, or use --backend nvml`)
}
