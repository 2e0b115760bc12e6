/** Setting of a GPU while it trains. */
export interface Setting {
  /** In force, W. */
  readonly powerLimitW: number
  /** Locked SM clock, MHz; null if the firmware chooses it within the limit. */
  readonly smClockMhz: number | null
}

/** A setting whose clock may be absent instead of null. */
interface MaybeLocked extends Pick<Setting, 'powerLimitW'> {
  readonly smClockMhz?: number | null | undefined
}

export const isLocked = ({ smClockMhz = null }: Pick<MaybeLocked, 'smClockMhz'>): boolean => smClockMhz !== null

/** Formats a setting: `200 W`, or `1200 MHz within 200 W`. */
export function settingText({ powerLimitW, smClockMhz = null }: MaybeLocked): string {
  return smClockMhz === null ? `${powerLimitW} W` : `${smClockMhz} MHz within ${powerLimitW} W`
}

export const isSameSetting = (a: MaybeLocked, b: MaybeLocked): boolean => settingText(a) === settingText(b)
