import type { NvmlDevice } from './nvml-device.js'
import { assertSuccess, meansAbsent } from './nvml-error.js'

/** NVML's bits for event types (`nvmlEventType*`). */
const eventTypes = {
  'single-bit-ecc': 0x1,
  'double-bit-ecc': 0x2,
  pstate: 0x4,
  xid: 0x8,
  clock: 0x10,
} as const

export type BoardEventKind = keyof typeof eventTypes

const boardEventKinds = Object.keys(eventTypes) as BoardEventKind[]

export interface BoardEvent {
  readonly kind: BoardEventKind
  /** XID number of an `xid` event (NVIDIA's XID error list); null for any other kind of event. */
  readonly xid: number | null
}

const NVML_TIMEOUT = 10
/** Size of `nvmlEventData_t`, bytes. It contains the board, the event type, and the XID number. */
const EVENT_BYTES = 32
const [TYPE_AT, DATA_AT] = [8, 16]
const MAX_TAKEN = 64

/** Receives the events of one board from now on. The driver queues events, so no thread waits for them. */
export class NvmlEvents {
  readonly #device: NvmlDevice
  readonly #set: unknown
  readonly #data = new Uint8Array(EVENT_BYTES)
  #open = true

  private constructor(device: NvmlDevice, set: unknown) {
    this.#device = device
    this.#set = set
  }

  /** Subscribes to all events that a board supports. Returns null if it supports none. @throws NvmlError */
  static open(device: NvmlDevice): NvmlEvents | null {
    const { calls, subject } = device
    const made: [unknown] = [null]
    const code = calls.get('nvmlEventSetCreate')(made)
    if (meansAbsent(code)) return null
    assertSuccess('nvmlEventSetCreate', code, subject)
    const events = new NvmlEvents(device, made[0])
    const register = 'nvmlDeviceRegisterEvents'
    const codes = boardEventKinds.map((kind) => calls.get(register)(device.handle, eventTypes[kind], made[0]))
    const failure = codes.find((each) => each !== 0 && !meansAbsent(each))
    if (codes.includes(0) && failure === undefined) return events
    events.close()
    assertSuccess(register, failure ?? 0, subject)
    return null
  }

  /** Returns events since the last call. @throws NvmlError `GPU_LOST` for a lost board, once all have been returned */
  take(): BoardEvent[] {
    const { calls, subject } = this.#device
    const taken: BoardEvent[] = []
    const view = new DataView(this.#data.buffer)
    while (taken.length < MAX_TAKEN) {
      const code = calls.get('nvmlEventSetWait_v2')(this.#set, this.#data, 0)
      if (code === NVML_TIMEOUT || (code !== 0 && taken.length > 0)) break
      assertSuccess('nvmlEventSetWait_v2', code, subject)
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
