import type { Terminal } from '@pctodl/command-line'
import { systemClock } from '@pctodl/platform'
import { attachProcess, CudaError } from './attached-process.js'
import type { CountersReply } from './control-protocol.js'

export interface TenantOptions {
  readonly network: string
  readonly batch: number
  /** Running time. Default: until a signal arrives or the host ends. */
  readonly seconds?: number
}

const mpsFailures: Readonly<Record<number, string>> = {
  806: 'the MPS server is gone',
  810: 'the MPS server terminated this client',
}

/**
 * The command `pctodl sim tenant`: a process that uses the simulated board like an inference process uses a real one. It
 * reads the MPS variables and `CUDA_VISIBLE_DEVICES` once at the start, stays attached to the board until it ends, and
 * prints its counters every second.
 *
 * @returns the exit code: 0, or 1 if the board or the MPS server refuses or disconnects the process
 * @throws BoardUnavailableError outside a simulated host
 */
export async function tenant(
  { network, batch, seconds = Number.POSITIVE_INFINITY }: TenantOptions,
  { stdout, stderr, signal }: Terminal,
): Promise<number> {
  const print = (report: object) => stdout.write(`${JSON.stringify(report)}\n`)
  try {
    const wanted = { name: `pctodl sim tenant ${network}`, model: network, batchSize: batch }
    const { client, attached } = await attachProcess(process.env, wanted)
    try {
      print({ attached: true, mps: attached.isMpsClient, mpsPercent: attached.mpsPercent })
      const endMs = performance.now() + 1000 * seconds
      while (!signal.aborted && performance.now() < endMs) {
        await systemClock.sleep(Math.min(1000, endMs - performance.now()), signal).catch(() => {})
        const { cudaError, failureKind, ...counters } = await client.request<CountersReply>({ kind: 'counters' })
        if (counters.state === 'failed') print(counters)
        if (failureKind === 'killed') process.kill(process.pid, 'SIGKILL')
        if (cudaError) throw new CudaError(cudaError, counters.failure ?? mpsFailures[cudaError] ?? 'unknown error')
        print(counters)
      }
      return 0
    } finally {
      client.close()
    }
  } catch (error) {
    if (!(error instanceof CudaError)) throw error
    stderr.write(`${error.message}\n`)
    return 1
  }
}
