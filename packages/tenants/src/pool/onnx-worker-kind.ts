import { existsSync } from 'node:fs'
import { freemem, homedir } from 'node:os'
import path from 'node:path'
import { layerGraph } from '@pctodl/model-zoo'
import { writeOnnx } from '@pctodl/model-zoo/node'
import { InvalidInputError, networkName, type Tenant } from '@pctodl/platform'
import { builtWorker } from './built-worker.js'
import type { WorkerKind } from './worker-kind.js'

export interface OnnxWorkerOptions {
  /** Folder for the exported networks of the model zoo. Default: a folder in the user's cache. */
  readonly modelFolder?: string
  /**
   * Device: `cpu`, `cuda`, or `auto`, which is CUDA if onnxruntime-node has its CUDA provider and otherwise the CPU.
   * Default `auto`.
   */
  readonly device?: 'auto' | 'cpu' | 'cuda'
  /** Number of CPU threads that one operator uses. Default 1. */
  readonly threads?: number
  /**
   * Memory that the batches of one worker on the CPU may use, bytes. Default: 80 % of the memory that is free when the
   * worker starts.
   */
  readonly memoryLimitBytes?: number
  /** Path of another worker program. Default: the built one of this package. */
  readonly program?: string
}

/**
 * Workers that run networks in onnxruntime-node. A tenant's model is either a network of the model zoo, exported with
 * random weights on first use, or the path of an `.onnx` file with a dynamic batch.
 *
 * @throws PctodlError `NOT_BUILT` if the worker has not been built
 */
export function onnxWorker(options: OnnxWorkerOptions = {}): WorkerKind {
  const {
    modelFolder = defaultModelFolder(),
    device = 'auto',
    threads = 1,
    program = builtWorker('onnx-worker'),
  } = options
  return {
    name: 'onnxruntime-node',
    launch: ({ model }: Tenant) => {
      const isFile = model.endsWith('.onnx')
      return {
        program: process.execPath,
        args: [program],
        // Without this variable, each process would send telemetry and write it to the user's cache and temporary
        // folder.
        environment: { ORT_DISABLE_TELEMETRY: '1' },
        protocol: 2,
        modelFile: isFile ? existing(model) : exported(model, modelFolder),
        options: { device, threads },
        // Peak activation memory plus input per sample, bytes, in single precision.
        ...(isFile ? {} : { sampleBytes: 4 * layerGraph(model).peakActivationElements + 2 * 4 * 3 * 224 * 224 }),
        memoryLimitBytes: options.memoryLimitBytes ?? 0.8 * freemem(),
      }
    },
  }
}

function exported(model: string, folder: string): string {
  const file = path.join(folder, `${networkName(model)}.onnx`)
  return existsSync(file) ? file : writeOnnx(model, folder).at(-1)!.path
}

function existing(file: string): string {
  if (!existsSync(file)) throw new InvalidInputError('model', file, 'an existing ONNX file')
  return path.resolve(file)
}

function defaultModelFolder(): string {
  const cache = process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache')
  return path.join(cache, 'pctodl-tenants', 'models')
}
