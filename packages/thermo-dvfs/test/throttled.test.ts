import { describe, expect, it } from 'vitest'
import { ClockController } from '../src/index.js'

const smClocksMhz = Array.from({ length: 41 }, (_, i) => 600 + 30 * i)
const powerAt = (clockMhz: number) => 60 + clockMhz / 10
const CAP_W = 180
const HELD_MHZ = 900
const GROWN_MS = 14_000

interface Told {
  readonly throttled?: boolean
  readonly powerLimitW?: number
}

/** A controller whose clock the firmware has held at 900 MHz for some seconds; then the load grows by a factor. */
class Throttled {
  readonly #controller = new ClockController({ smClocksMhz, reading: 'one-second-average' })
  readonly #grows: number
  readonly #told: Told
  #timeMs = 0
  askedMhz = HELD_MHZ

  constructor(grows: number, told: Told) {
    this.#controller.setPlant(smClocksMhz.map(powerAt))
    this.#grows = grows
    this.#told = told
    while (this.#timeMs < GROWN_MS) this.step()
  }

  /** @param readW what is read instead of what the board draws, W */
  step(readW?: number): void {
    const timeMs = this.#timeMs
    const throttling = timeMs >= 8000
    const smClockMhz = throttling ? Math.min(this.askedMhz, HELD_MHZ) : this.askedMhz
    const drawnW = (timeMs < GROWN_MS ? 1 : 1 + this.#grows) * powerAt(smClockMhz) + (timeMs % 300) / 3000
    const readings = { powerAverageW: readW ?? drawnW, powerInstantW: readW ?? drawnW, smClockMhz, activeShare: 1 }
    const seen = { timeMs, powerCapW: CAP_W, loading: false, ...readings, ...(throttling ? this.#told : {}) }
    this.askedMhz = this.#controller.step(seen).smClockMhz
    this.#timeMs += 100
  }

  /** Time until the controller requests a lower clock than before the load grew. */
  untilLowered(): this {
    const before = this.askedMhz
    for (let i = 0; i < 50 && this.askedMhz === before; i++) this.step()
    return this
  }
}

describe('a load that grows while firmware holds its clock down', () => {
  it('is not asked to run above where it is held: that would only set it free for a moment', () => {
    for (const grows of [0.05, 0.1, 0.2]) {
      expect(new Throttled(grows, { throttled: true }).untilLowered().askedMhz).toBeLessThanOrEqual(HELD_MHZ)
    }
    for (const told of [{}, { throttled: true }]) {
      // Beside a limit at the cap, by the state or two that its firmware takes back.
      const { askedMhz } = new Throttled(0.1, { ...told, powerLimitW: CAP_W }).untilLowered()
      expect(askedMhz).toBeLessThanOrEqual(HELD_MHZ + 30)
    }
  })

  it('is lowered at once where it is read above the cap: that it was asked for what it runs anyhow has lowered nothing', () => {
    const throttled = new Throttled(0.05, { throttled: true }).untilLowered()
    expect(throttled.askedMhz).toBe(HELD_MHZ)
    throttled.step(182)
    expect(throttled.askedMhz).toBeLessThan(HELD_MHZ)
  })
})
