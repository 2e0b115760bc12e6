import type { NvmlDevice } from './nvml-device.js'
import { meansAbsent, NvmlError } from './nvml-error.js'

/** NVML's bits for event types (`nvmlEventType*`). */
const eventTypes = {
  'single-bit-ecc': 0x1,
  'double-bit-ecc': 0x2,
  pstate: 0x4,
  xid: 0x8,
  clock: 0x10,
} as const

export type BoardEventKind = keyof typeof eventTypes

export const boardEventKinds: readonly BoardEventKind[] = Object.keys(eventTypes) as BoardEventKind[]

/** A board event reported by the driver. */
export interface BoardEvent {
  readonly kind: BoardEventKind
  /** XID number of an `xid` event (NVIDIA's XID error list); null for any other kind of event. */
  readonly xid: number | null
}

const NVML_TIMEOUT = 10
/** Size of `nvmlEventData_t`, bytes. It contains the board, the event type, and the XID number. */
const EVENT_BYTES = 32
const [TYPE_AT, DATA_AT] = [8, 16]

/**
 * Receives the events of one board that occur from now on. The driver queues events, so they are polled, and no thread
 * has to wait for them.
 */
export class NvmlEvents {
  readonly #device: NvmlDevice
  readonly #set: unknown
  readonly #data = new Uint8Array(EVENT_BYTES)
  #open = true

  private constructor(device: NvmlDevice, set: unknown) {
    this.#device = device
    this.#set = set
  }

  /**
   * Subscribes to events of a board.
   * @param kinds kinds of events; those that the board does not support are ignored
   * @returns null if the board or the driver supports none of the kinds
   * @throws NvmlError if the driver fails
   */
  static open(device: NvmlDevice, kinds: readonly BoardEventKind[] = boardEventKinds): NvmlEvents | null {
    const { calls, subject } = device
    const made: [unknown] = [null]
    const code = calls.get('nvmlEventSetCreate')(made)
    if (meansAbsent(code)) return null
    if (code !== 0) throw new NvmlError('nvmlEventSetCreate', code, subject)
    const events = new NvmlEvents(device, made[0])
    const codes = kinds.map((kind) => calls.get('nvmlDeviceRegisterEvents')(device.handle, eventTypes[kind], made[0]))
    const failure = codes.find((each) => each !== 0 && !meansAbsent(each))
    if (codes.some((each) => each === 0) && failure === undefined) return events
    events.close()
    if (failure !== undefined) throw new NvmlError('nvmlDeviceRegisterEvents', failure, subject)
    return null
  }

  /**
   * Returns up to `most` events since the last call, oldest first.
   *
   * @throws NvmlError `GPU_LOST` for a lost board, once all its events have been returned
   */
  take(most = 64): BoardEvent[] {
    const { calls, subject } = this.#device
    const taken: BoardEvent[] = []
    const view = new DataView(this.#data.buffer)
    while (taken.length < most) {
      const code = calls.get('nvmlEventSetWait_v2')(this.#set, this.#data, 0)
      if (code === NVML_TIMEOUT) break
      if (code !== 0) {
        if (taken.length > 0) break
        throw new NvmlError('nvmlEventSetWait_v2', code, subject)
      }
      const type = Number(view.getBigUint64(TYPE_AT, true))
      const kind = boardEventKinds.find((each) => eventTypes[each] === type)
      if (kind) taken.push({ kind, xid: kind === 'xid' ? Number(view.getBigUint64(DATA_AT, true)) : null })
    }
    return taken
  }

  /** Idempotent. */
  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#device.calls.get('nvmlEventSetFree')(this.#set)
  }
}
