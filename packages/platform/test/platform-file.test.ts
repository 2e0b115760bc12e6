import { describe, expect, it } from 'vitest'
import { formatPlatformFile, gpuSpecs, PlatformFileError, parsePlatformFile } from '../src/index.js'

const whole = () => JSON.parse(formatPlatformFile(gpuSpecs['3080Ti']!))

function refused(change: (file: ReturnType<typeof whole>) => void): string {
  const file = whole()
  change(file)
  try {
    parsePlatformFile(JSON.stringify(file), 'board.json')
  } catch (error) {
    expect(error).toBeInstanceOf(PlatformFileError)
    return (error as Error).message
  }
  return 'accepted'
}

describe('a platform file', () => {
  it('brings every board of the release back as it was', () => {
    for (const spec of Object.values(gpuSpecs)) expect(parsePlatformFile(formatPlatformFile(spec))).toEqual(spec)
  })

  it('puts clocks in order', () => {
    const file = whole()
    file.spec.clockStates.reverse()
    for (const state of file.spec.clockStates) state.smClocksMhz.reverse()
    file.spec.performanceMemClocksMhz.reverse()
    expect(parsePlatformFile(JSON.stringify(file))).toEqual(gpuSpecs['3080Ti'])
  })

  it('is refused with file and field where a field is missing or wrong', () => {
    for (const field of Object.keys(whole().spec)) {
      expect(refused((file) => delete file.spec[field])).toMatch(
        new RegExp(`^board.json, spec.${field}: got nothing, expected `),
      )
      expect(refused((file) => (file.spec[field] = -1))).toContain(`spec.${field}`)
    }
    expect(refused((file) => (file.spec.smCount = 1.5))).toMatch(/spec.smCount: got 1.5, expected a whole number/)
    expect(refused((file) => (file.spec.clockStates[1].memClockMhz = 'x'))).toMatch(
      /spec.clockStates\[1\].memClockMhz: got 'x'/,
    )
    expect(refused((file) => (file.spec.clockStates[0].smClocksMhz = [210, 210]))).toMatch(/every clock once/)
    expect(refused((file) => (file.spec.powerLimitW.default = 500))).toMatch(/min <= default <= max/)
    expect(refused((file) => (file.spec.baseClockMhz = 9000))).toMatch(/baseClockMhz: got 9000.*at most boostClockMhz/)
    expect(refused((file) => (file.spec.smPerTpc = 81))).toMatch(/smPerTpc: got 81.*at most smCount/)
    for (const field of ['architecture', 'chip', 'process', 'memoryType'])
      expect(refused((file) => (file.spec[field] = 'constructor'))).toMatch(/got 'constructor', expected a text/)
    for (const wrong of ['nine', '-1', '9'])
      expect(refused((file) => (file.spec.computeCapability = wrong))).toMatch(/computeCapability: got .*'9.0'/)
    // Idle memory clocks have low SM clocks still.
    const fast = (file: ReturnType<typeof whole>) => (file.spec.clockStates.at(-1).smClocksMhz = [9000])
    expect(refused(fast)).toMatch(/boostClockMhz: got 1950.*at least the lowest SM clock/)
    expect(refused((file) => file.spec.performanceMemClocksMhz.push(1234))).toMatch(/memory clocks of clockStates only/)
    expect(refused((file) => (file.version = 2))).toMatch(/version: got 2, expected 1/)
    expect(refused((file) => (file.format = 'x'))).toMatch(/format: got 'x', expected 'pctodl-platform'/)
  })

  it('is refused where it is no such file at all', () => {
    for (const text of ['', 'key: 3080Ti', '[]', 'null', '{"format": "pctodl-platform", "version": 1}']) {
      expect(() => parsePlatformFile(text, 'board.json')).toThrow(PlatformFileError)
    }
  })
})
