import { findGpuSpec, formatPlatformFile, parsePlatformFile } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { type BoardFacts, specOfBoard, UnknownBoardError } from '../src/index.js'

const clocks = (memClockMhz: number, ...smClocksMhz: number[]) => ({ memClockMhz, smClocksMhz })

/** An RTX 4080 as its driver would tell it (fewer clocks): a board that no release knows. */
const unknown: BoardFacts = {
  index: 0,
  name: 'NVIDIA GeForce RTX 4080',
  uuid: 'GPU-1',
  pciBusId: '00000000:01:00.0',
  pciDeviceId: '268410DE',
  architecture: 'Ada',
  computeCapability: '8.9',
  smCount: 128,
  memoryBytes: 24 * 1024 ** 3,
  memoryBusBits: 384,
  clockStates: [clocks(405, 210, 405), clocks(5001, 210, 3105), clocks(10251, 210, 3105), clocks(10501, 210, 3105)],
  defaultApplicationClockMhz: null,
  powerLimitW: { minW: 150, maxW: 600, defaultW: 450 },
  thermalLimitC: 84,
}

describe('the type of a board', () => {
  it('is what the release knows, corrected by what the board tells', () => {
    const known = findGpuSpec('3080Ti')
    const spec = specOfBoard({
      ...unknown,
      name: known.name,
      smCount: 78,
      clockStates: [clocks(405, 210), clocks(9501, 210, 1905)],
      powerLimitW: { minW: 120, maxW: 380, defaultW: 340 },
    })
    expect(spec).toMatchObject({
      key: '3080Ti',
      smCount: 78,
      l2Bytes: known.l2Bytes,
      tensorFlopPerClockPerSm: known.tensorFlopPerClockPerSm,
      powerLimitW: { min: 120, default: 340, max: 380 },
      // 5001 MHz is worth planning with, but this board has no such clock.
      performanceMemClocksMhz: [9501],
    })
    expect(spec.sources.at(-1)).toMatch(/NVML on the board itself/)
  })

  it('keeps what is known where the board is silent', () => {
    const known = findGpuSpec('A100')
    const silent = {
      ...unknown,
      name: known.name,
      smCount: null,
      clockStates: [],
      powerLimitW: null,
      thermalLimitC: null,
    }
    expect(specOfBoard(silent)).toMatchObject({
      smCount: 108,
      clockStates: known.clockStates,
      powerLimitW: known.powerLimitW,
      thermalLimitC: known.thermalLimitC,
    })
  })

  it('of an unknown board needs what NVML does not tell, and names it', () => {
    expect(() => specOfBoard(unknown)).toThrow(UnknownBoardError)
    expect(() => specOfBoard(unknown)).toThrow(/level-2 cache, base clock.*pctodl gpu describe --l2-mib/)
    const spec = specOfBoard(unknown, { l2Bytes: 72 * 1024 ** 2, baseClockMhz: 2235 })
    expect(spec).toMatchObject({
      key: 'GeForce-RTX-4080',
      architecture: 'Ada',
      process: 'TSMC 4N',
      smPerTpc: 2,
      boostClockMhz: 3105,
      // GeForce: half the rate of the same chip on a professional board.
      tensorFlopPerClockPerSm: 512,
      performanceMemClocksMhz: [10501, 10251],
      powerReading: 'one-second-average',
    })
    expect(spec.sources).toEqual(
      expect.arrayContaining(['l2Bytes: given by hand', expect.stringMatching(/boostClockMhz: the highest/)]),
    )
    expect(parsePlatformFile(formatPlatformFile(spec))).toEqual(spec)
    expect(() =>
      specOfBoard({ ...unknown, architecture: 'Rubin', computeCapability: '13.0' }, { l2Bytes: 1, baseClockMhz: 1 }),
    ).toThrow(/generation \(Rubin 13.0\)/)
  })
})
