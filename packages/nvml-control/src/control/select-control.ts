import type { NvmlDevice } from '../nvml/nvml-device.js'
import type { BoardChange } from './board-change.js'
import type { BoardControl } from './board-control.js'
import { nvmlControl } from './nvml-control.js'
import { type SmiOptions, smiControl } from './smi-control.js'

/**
 * `nvml`, `nvidia-smi`, or `auto`: NVML, and from its first `NO_PERMISSION` on `nvidia-smi`, whose refusal is then the
 * error that the caller sees.
 */
export type ControlPath = 'auto' | 'nvml' | 'nvidia-smi'

export interface ControlOptions {
  /** Default `auto`. */
  readonly path?: ControlPath
  readonly smi?: SmiOptions
}

/** The way in which a board will be changed; `path` of the result tells which one is in use. */
export function selectControl(device: NvmlDevice, { path = 'auto', smi }: ControlOptions = {}): BoardControl {
  if (path === 'nvml') return nvmlControl(device)
  const second = smiControl(device.uuid, smi)
  return path === 'nvidia-smi' ? second : new FirstPermitted(nvmlControl(device), second)
}

class FirstPermitted implements BoardControl {
  readonly #second: BoardControl
  #current: BoardControl

  constructor(first: BoardControl, second: BoardControl) {
    this.#current = first
    this.#second = second
  }

  get path(): BoardControl['path'] {
    return this.#current.path
  }

  async apply(change: BoardChange): Promise<void> {
    try {
      await this.#current.apply(change)
    } catch (error) {
      if (!this.#turnsTo(error)) throw error
      await this.#current.apply(change)
    }
  }

  applySync(change: BoardChange): void {
    try {
      this.#current.applySync(change)
    } catch (error) {
      if (!this.#turnsTo(error)) throw error
      this.#current.applySync(change)
    }
  }

  #turnsTo(error: unknown): boolean {
    if (this.#current === this.#second || (error as { code?: string }).code !== 'NO_PERMISSION') return false
    this.#current = this.#second
    return true
  }
}
