import { readFileSync } from 'node:fs'
import { reasonOf } from '@pctodl/platform'
import type { InferenceSession, Tensor } from 'onnxruntime-node'
import type { ImageFile, StartCommand } from '../protocol/messages.js'
import { type LoadedModel, MissingRuntime } from './inference-thread.js'
import { assertFits } from './memory-guard.js'

export interface OnnxOptions {
  /**
   * `auto` selects CUDA if onnxruntime-node has its CUDA provider, otherwise the CPU, and the worker reports the
   * choice. Default `auto`.
   */
  readonly device?: 'auto' | 'cpu' | 'cuda'
  /** Number of CPU threads that one operator uses. Default 1, so that tenants do not compete for CPU cores. */
  readonly threads?: number
}

/** A network in ONNX Runtime, and the batch of input images that it runs. */
export class OnnxModel implements LoadedModel {
  readonly runtime: string
  readonly #session: InferenceSession
  readonly #tensor: typeof Tensor
  readonly #images: ImageFile
  readonly #start: StartCommand
  readonly #pixels: Float32Array
  #batch = new Float32Array(0)
  #next = 0

  private constructor(
    ort: typeof import('onnxruntime-node'),
    session: InferenceSession,
    start: StartCommand,
    readonly device: string,
    readonly note: string | undefined,
  ) {
    this.runtime = `onnxruntime-node ${ort.env.versions.node ?? ''}`.trim()
    this.#session = session
    this.#tensor = ort.Tensor
    this.#start = start
    this.#images = start.images
    const bytes = readFileSync(start.images.file)
    this.#pixels = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
  }

  /**
   * Loads the network of a `start` command.
   * @throws MissingRuntime
   */
  static async load(start: StartCommand): Promise<OnnxModel> {
    const ort = await import('onnxruntime-node').catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause)
      throw new MissingRuntime(
        `this worker needs onnxruntime-node, which cannot be loaded (${reason}); install it: npm install onnxruntime-node ` +
          '(with ONNXRUNTIME_NODE_INSTALL=skip if its download of CUDA files fails)',
      )
    })
    if (start.modelFile === null) throw new Error(`no ONNX file was given for ${start.model}`)
    const { device = 'auto', threads = 1 } = start.options as OnnxOptions
    const open = (provider: string) =>
      ort.InferenceSession.create(start.modelFile!, {
        executionProviders: [provider],
        intraOpNumThreads: threads,
        interOpNumThreads: 1,
        executionMode: 'sequential',
      })
    if (device !== 'auto') return new OnnxModel(ort, await open(device), start, device, undefined)
    try {
      return new OnnxModel(ort, await open('cuda'), start, 'cuda', undefined)
    } catch (error) {
      const reason = reasonOf(error).split('\n')[0]
      return new OnnxModel(ort, await open('cpu'), start, 'cpu', `on the processor: CUDA is not available (${reason})`)
    }
  }

  /** Assembles the next images into a batch and runs it. */
  async run(batchSize: number): Promise<void> {
    assertFits(this.#start, batchSize)
    const { channels, height, width, count } = this.#images
    const size = channels * height * width
    if (this.#batch.length !== batchSize * size) this.#batch = new Float32Array(batchSize * size)
    for (let i = 0; i < batchSize; i++) {
      this.#batch.set(this.#pixels.subarray(this.#next * size, (this.#next + 1) * size), i * size)
      this.#next = (this.#next + 1) % count
    }
    const input = this.#session.inputNames[0]!
    const tensor = new this.#tensor('float32', this.#batch, [batchSize, channels, height, width])
    const outputs = await this.#session.run({ [input]: tensor })
    for (const output of Object.values(outputs)) output.dispose()
  }
}
