import { existsSync } from 'node:fs'
import path from 'node:path'
import { PctodlError } from '@pctodl/platform'
import { codeFolder } from './code-folder.js'
import type { WorkerKind } from './worker-kind.js'

export interface TorchWorkerOptions {
  /** Interpreter with PyTorch and torchvision or timm. Default: `$PCTODL_PYTHON`, or `python3`. */
  readonly python?: string
  /** `auto`: CUDA where torch sees a board, the processor otherwise. Default `auto`. */
  readonly device?: 'auto' | 'cpu' | 'cuda'
  /** Default `fp16` on a board, `fp32` on the processor. */
  readonly precision?: 'fp16' | 'fp32'
  /** Keep activations in channels-last order, which convolutions on tensor cores prefer. Default false. */
  readonly channelsLast?: boolean
  /** Trained weights, fetched by torchvision or timm; without, random ones, which take the same time. Default false. */
  readonly pretrained?: boolean
  /** Threads on the processor. Default 1. */
  readonly threads?: number
}

/** Workers on PyTorch: models of torchvision, or of timm where torchvision has no such name. */
export function torchWorker(options: TorchWorkerOptions = {}): WorkerKind {
  const { python = process.env['PCTODL_PYTHON'] || 'python3', ...workerOptions } = options
  const program = torchWorkerFile()
  return {
    name: 'PyTorch',
    launch: () => ({ program: python, args: ['-u', program], protocol: 2, options: { ...workerOptions } }),
  }
}

/** The worker's Python file, which comes with this package. */
export function torchWorkerFile(): string {
  for (const up of ['..', '../..']) {
    const file = path.join(codeFolder(), up, 'python', 'pctodl_torch_worker.py')
    if (existsSync(file)) return file
  }
  throw new PctodlError('NOT_BUILT', 'pctodl_torch_worker.py is missing; install @pctodl/tenants again')
}
