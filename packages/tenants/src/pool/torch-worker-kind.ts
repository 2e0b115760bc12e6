import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { buildNetwork } from '@pctodl/model-zoo'
import { networkNames, PctodlError } from '@pctodl/platform'
import { writeWhole } from '../images/image-pool.js'
import { codeFolder } from './code-folder.js'
import type { WorkerKind } from './worker-kind.js'

export interface TorchWorkerOptions {
  /** Python interpreter that has PyTorch and torchvision or timm. Default: `$PCTODL_PYTHON`, or `python3`. */
  readonly python?: string
  /** Device: `cpu`, `cuda`, or `auto`, which is CUDA if PyTorch finds a GPU and otherwise the CPU. Default `auto`. */
  readonly device?: 'auto' | 'cpu' | 'cuda'
  /** Precision. Default: `fp16` on a GPU, `fp32` on the CPU. */
  readonly precision?: 'fp16' | 'fp32'
  /**
   * Whether to keep activations in channels-last order, which is faster for convolutions on tensor cores. Default
   * false.
   */
  readonly channelsLast?: boolean
  /**
   * Whether to use random batches that stay in GPU memory, and CUDA graphs if the model can be captured. The
   * measurement then excludes copies and other work of the host. This option also enables the models `transformer`,
   * `gemm_N`, `attention_prefill`, `attention_decode` and `stream_copy`. The networks of the model zoo are built from
   * their graphs, which saves the import of torchvision. Default false.
   */
  readonly residentInputs?: boolean
  /**
   * Whether to use trained weights, which torchvision or timm downloads. Default false: random weights, with the same
   * speed.
   */
  readonly pretrained?: boolean
  /** CPU threads. Default 1. */
  readonly threads?: number
}

/** Workers that run networks in PyTorch. Models come from torchvision, or from timm if torchvision lacks the name. */
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

/** Returns the path of the worker's Python file, which is part of this package. */
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

/** Writes the operators of a network to a file, from which the worker builds it. */
function graphFile(model: string): string {
  const folder = path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'pctodl-tenants', 'graphs')
  const file = path.join(folder, `${model}.json`)
  const nodes = buildNetwork(model).nodes.map(({ id, kind, inputs, attributes }) => ({ id, kind, inputs, attributes }))
  const text = JSON.stringify(nodes)
  // An earlier version may have written the file.
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return file
  mkdirSync(folder, { recursive: true })
  writeWhole(file, text)
  return file
}
