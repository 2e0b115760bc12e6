import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { buildNetwork } from '@pctodl/model-zoo'
import { networkNames, PctodlError } from '@pctodl/platform'
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
  /**
   * Compute on random batches that stay on the board, by CUDA graphs where they can be captured: what the board does without a host
   * that feeds it. Also knows the models `transformer`, `gemm_N`, `attention_prefill`, `attention_decode` and `stream_copy`; image
   * networks that torchvision lacks are built from the model zoo. Default false.
   */
  readonly residentInputs?: boolean
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
    launch: ({ model }) => ({
      program: python,
      args: ['-u', program],
      protocol: 2,
      ...(options.residentInputs && isOfTheZoo(model) ? { modelFile: graphFile(model) } : {}),
      options: { ...workerOptions },
    }),
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

function isOfTheZoo(model: string): boolean {
  return (networkNames as readonly string[]).includes(model)
}

/** The operators of a network, for where torchvision is not installed. */
function graphFile(model: string): string {
  const folder = path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'pctodl-tenants', 'graphs')
  const file = path.join(folder, `${model}.json`)
  if (existsSync(file)) return file
  mkdirSync(folder, { recursive: true })
  const unfinished = `${file}.${process.pid}`
  const nodes = buildNetwork(model).nodes.map(({ id, kind, inputs, attributes }) => ({ id, kind, inputs, attributes }))
  writeFileSync(unfinished, JSON.stringify(nodes))
  renameSync(unfinished, file)
  return file
}
