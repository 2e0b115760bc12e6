import type { NvmlCallName, NvmlCalls } from './nvml-calls.js'
import { assertSuccess } from './nvml-error.js'

/** Enough for every NVML string: names 96 bytes, UUIDs 96 bytes, versions 80 bytes. */
export const TEXT_BYTES = 96

const INSUFFICIENT_SIZE = 7

/** A board or MIG instance in NVML, with a method for each way in which NVML functions return values. */
export class NvmlHandle {
  readonly #word = new Uint32Array(1)

  constructor(
    readonly calls: NvmlCalls,
    readonly handle: unknown,
    /** Name in error messages. */
    readonly subject: string,
  ) {}

  /** Product name, e.g. `NVIDIA A100-SXM4-40GB`. */
  get name(): string {
    return this.text('nvmlDeviceGetName')
  }

  get uuid(): string {
    return this.text('nvmlDeviceGetUUID')
  }

  check(name: NvmlCallName, ...args: unknown[]): void {
    assertSuccess(name, this.calls.get(name)(this.handle, ...args), this.subject)
  }

  /** Calls an NVML function for this board on another thread. @throws NvmlError */
  async checkInBackground(name: NvmlCallName, ...args: unknown[]): Promise<void> {
    assertSuccess(name, await this.calls.inBackground(name, this.handle, ...args), this.subject)
  }

  /** @param select arguments that select the number, such as NVML's clock id */
  number(name: NvmlCallName, ...select: number[]): number {
    this.check(name, ...select, this.#word)
    return this.#word[0]!
  }

  longs(name: NvmlCallName, count = 1): number[] {
    const words = new BigUint64Array(count)
    this.check(name, words)
    return Array.from(words, Number)
  }

  text(name: NvmlCallName): string {
    const buffer = Buffer.alloc(TEXT_BYTES)
    this.check(name, buffer, buffer.length)
    return textIn(buffer)
  }

  bytes(name: NvmlCallName, size: number): Buffer {
    const buffer = Buffer.alloc(size)
    this.check(name, buffer)
    return buffer
  }

  /** Reads a list of unknown length. The buffer is doubled until the list fits: it may grow between two calls. */
  list(name: NvmlCallName, entryBytes: number, ...select: number[]): Buffer[] {
    for (let room = 128; ; room *= 2) {
      const buffer = Buffer.alloc(room * entryBytes)
      this.#word[0] = room
      const code = this.calls.get(name)(this.handle, ...select, this.#word, buffer)
      if (code === INSUFFICIENT_SIZE && room < 65_536) continue
      assertSuccess(name, code, this.subject)
      return Array.from({ length: this.#word[0]! }, (_, i) => buffer.subarray(i * entryBytes, (i + 1) * entryBytes))
    }
  }
}

/** Returns the C string that starts at offset `from` in a buffer. */
export function textIn(buffer: Buffer, from = 0): string {
  const end = buffer.indexOf(0, from)
  return buffer.toString('utf8', from, end < 0 ? buffer.length : end)
}
