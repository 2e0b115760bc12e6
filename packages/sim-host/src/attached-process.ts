import { join } from 'node:path'
import { given, PctodlError } from '@pctodl/platform'
import type { AttachReply, AttachRequest } from './control-protocol.js'
import { BoardUnavailableError } from './host-errors.js'
import { controlSocket } from './host-folder-layout.js'
import { MessageClient } from './message-socket.js'

/** Thrown if a process cannot get a CUDA context on a board, or if it loses its context. */
export class CudaError extends PctodlError {
  readonly cudaError: number

  constructor(cudaError: number, message: string) {
    super('CUDA_ERROR', `CUDA error ${cudaError}: ${message}`)
    this.cudaError = cudaError
  }
}

/**
 * Attaches this process to a board of the simulated host in which it runs. `CUDA_VISIBLE_DEVICES` and the MPS variables
 * select the board. The process stays attached until the connection closes.
 *
 * @throws BoardUnavailableError outside a simulated host
 * @throws CudaError if the board or the MPS server refuses the process
 */
export async function attachProcess(
  environment: Readonly<Record<string, string | undefined>>,
  { model, batchSize = 1, ...wanted }: Partial<AttachRequest> & { name: string; model?: string; batchSize?: number },
): Promise<{ readonly client: MessageClient; readonly attached: AttachReply }> {
  const folder = environment['PCTODL_GPU_SIM_FOLDER']
  if (!folder)
    throw new BoardUnavailableError('no simulated host; start one with: pctodl sim host --gpu 3080Ti -- <command>')
  const client = await MessageClient.open(controlSocket(folder)).catch((cause) => {
    throw new BoardUnavailableError('the simulator has ended', { cause })
  })
  const mpsPercent = Number(environment['CUDA_MPS_ACTIVE_THREAD_PERCENTAGE'] || 100)
  const attached = await client.request<AttachReply & { readonly error?: string }>({
    kind: 'attach',
    pid: process.pid,
    uid: process.getuid?.() ?? 0,
    gpu: (environment['CUDA_VISIBLE_DEVICES'] || '0').split(',')[0]!,
    pipeDirectory: environment['CUDA_MPS_PIPE_DIRECTORY'] || join('/tmp', 'nvidia-mps'),
    tenant: { ...given({ model }), batchSize, mpsPercent },
    ...wanted,
  })
  if (!attached.error && !attached.cudaError) return { client, attached }
  client.close()
  throw new CudaError(attached.cudaError ?? 1, attached.error ?? attached.message)
}
