import { CudaError } from './attached-process.js'
import type { GivenWork, StepReply } from './control-protocol.js'
import type { MessageClient } from './message-socket.js'

/** vLLM's defaults: maximum number of tokens per step, and of concurrent sequences. */
const MAX_BATCHED_TOKENS = 2048
const MAX_SEQUENCES = 256
const KERNELS = 32

/** One request for text. Its prompt is processed in one or more steps. After that, each step generates one token. */
export interface Sequence {
  readonly promptTokens: number
  readonly maxTokens: number
  /**
   * Called for each generated token.
   *
   * @param isLast whether this is the last token
   */
  onToken(isLast: boolean): void
  /** Called if the connection to the board is lost or a step fails. */
  onFailure(): void
}

interface Running extends Sequence {
  readonly arrivedMs: number
  promptLeft: number
  generated: number
  tokenMs: number
}

const latencyBounds = [0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680]
const firstTokenBounds = [
  ...[0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75],
  ...[1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560],
]
const perTokenBounds = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80]

/** The methods of a board connection that the engine uses. */
type Board = Pick<MessageClient, 'request' | 'onClose' | 'close'>

/**
 * Continuous batching as in vLLM. A step processes one batch of tokens: one token of every sequence that is generating,
 * and as many tokens of new prompts as fit.
 */
export class LlmEngine {
  readonly #client: Board
  readonly #now: () => number
  readonly #waiting: Running[] = []
  #running: Running[] = []
  #busy = false
  readonly #tokens = { prompt: 0, generated: 0, finished: 0, aborted: 0 }
  readonly #firstToken = new Histogram('time_to_first_token_seconds', firstTokenBounds)
  readonly #laterToken = new Histogram('inter_token_latency_seconds', perTokenBounds)
  readonly #whole = new Histogram('e2e_request_latency_seconds', latencyBounds)
  #failure = 'the simulated host closed the connection'
  /** Resolves with the reason when the connection to the board is lost or a step fails. */
  readonly ended: Promise<string>

  private constructor(client: Board, now: () => number) {
    this.#client = client
    this.#now = now
    this.ended = new Promise((resolve) => {
      client.onClose = () => resolve(this.#failure)
    })
  }

  static async start(
    parameters: number,
    attach: (given: { readonly work: GivenWork }) => Promise<{ readonly client: Board }>,
    now: () => number = () => performance.now(),
  ): Promise<LlmEngine> {
    // Each token uses every weight once. A transformer block of width w has about 12 w^2 weights.
    const weights = Math.round(parameters / KERNELS)
    const elements = 2 * Math.round(Math.sqrt(weights / 12))
    const { client } = await attach({ work: { kernels: KERNELS, flops: 2 * weights, elements, weights } })
    return new LlmEngine(client, now)
  }

  /**
   * Executes one step of the largest batch, as vLLM does before it serves.
   *
   * @throws CudaError if the model does not fit into the board's memory
   */
  warmUp(): Promise<void> {
    return this.#execute(MAX_BATCHED_TOKENS)
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /**
   * Queues a sequence.
   *
   * @returns a function that cancels the sequence
   */
  add(sequence: Sequence): () => void {
    const nowMs = this.#now()
    const running = Object.assign(sequence, {
      ...{ arrivedMs: nowMs, promptLeft: sequence.promptTokens, generated: 0, tokenMs: nowMs },
    })
    this.#waiting.push(running)
    if (!this.#busy) void this.#run()
    return () => {
      const before = this.#running.length + this.#waiting.length
      this.#running = this.#running.filter((each) => each !== running)
      if (this.#waiting.includes(running)) this.#waiting.splice(this.#waiting.indexOf(running), 1)
      this.#tokens.aborted += before - this.#running.length - this.#waiting.length
    }
  }

  close(): void {
    this.#client.close()
  }

  /** Returns the engine's metrics in Prometheus text format. */
  metrics(model: string): string {
    const label = `model_name="${model}"`
    const { prompt, generated, finished, aborted } = this.#tokens
    const line = (type: string, name: string, value: number, more = '') =>
      `# TYPE vllm:${name} ${type}\nvllm:${name}{${label}${more}} ${value}\n`
    return [
      line('gauge', 'num_requests_running', this.#running.length),
      line('gauge', 'num_requests_waiting', this.#waiting.length),
      line('counter', 'prompt_tokens_total', prompt),
      line('counter', 'generation_tokens_total', generated),
      line('counter', 'request_success_total', finished, ',finished_reason="length"'),
      `vllm:request_success_total{${label},finished_reason="abort"} ${aborted}\n`,
      ...[this.#firstToken, this.#laterToken, this.#whole].map((each) => each.text(label)),
    ].join('')
  }

  async #run(): Promise<void> {
    this.#busy = true
    try {
      for (;;) {
        this.#running.push(...this.#waiting.splice(0, MAX_SEQUENCES - this.#running.length))
        if (this.#running.length === 0) break
        await this.#step()
      }
    } catch (error) {
      this.#failure = (error as Error).message
      for (const each of [...this.#running.splice(0), ...this.#waiting.splice(0)]) each.onFailure()
      this.close()
    } finally {
      this.#busy = false
    }
  }

  async #step(): Promise<void> {
    const answering = this.#running.filter(({ promptLeft }) => promptLeft === 0)
    let room = MAX_BATCHED_TOKENS - answering.length
    const read = new Map<Running, number>()
    for (const each of this.#running) {
      const tokens = Math.min(each.promptLeft, room)
      if (tokens > 0) read.set(each, tokens)
      room -= tokens
    }
    await this.#execute(MAX_BATCHED_TOKENS - room)
    for (const [each, tokens] of read) {
      each.promptLeft -= tokens
      this.#tokens.prompt += tokens
    }
    for (const each of [...this.#running]) if (each.promptLeft === 0) this.#token(each)
  }

  async #execute(tokens: number): Promise<void> {
    const { cudaError, message } = await this.#client.request<StepReply>({ kind: 'step', batchSize: tokens })
    if (cudaError !== 0) throw new CudaError(cudaError, message)
  }

  #token(sequence: Running): void {
    const histogram = sequence.generated === 0 ? this.#firstToken : this.#laterToken
    const nowMs = this.#now()
    histogram.observe(nowMs - sequence.tokenMs)
    sequence.tokenMs = nowMs
    sequence.generated++
    this.#tokens.generated++
    const isLast = sequence.generated === sequence.maxTokens
    if (isLast) {
      this.#running = this.#running.filter((each) => each !== sequence)
      this.#tokens.finished++
      this.#whole.observe(nowMs - sequence.arrivedMs)
    }
    sequence.onToken(isLast)
  }
}

class Histogram {
  readonly #name: string
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0

  constructor(name: string, bounds: readonly number[]) {
    this.#name = `vllm:${name}`
    this.#bounds = [...bounds, Number.POSITIVE_INFINITY]
    this.#counts = this.#bounds.map(() => 0)
  }

  observe(ms: number): void {
    const seconds = ms / 1000
    this.#sum += seconds
    for (const [i, bound] of this.#bounds.entries()) if (seconds <= bound) this.#counts[i]!++
  }

  text(label: string): string {
    const name = this.#name
    const buckets = this.#bounds.map((bound, i) => {
      const le = Number.isFinite(bound) ? bound : '+Inf'
      return `${name}_bucket{${label},le="${le}"} ${this.#counts[i]}\n`
    })
    const totals = `${name}_sum{${label}} ${this.#sum}\n${name}_count{${label}} ${this.#counts.at(-1)}\n`
    return `# TYPE ${name} histogram\n${buckets.join('')}${totals}`
  }
}
