import { SeededRandom, seedFrom } from '@pctodl/numerics'
import type { GpuSpec } from '@pctodl/platform'
import { type BoardIdentity, MAX_SM_CLOCKS } from './board-file-layout.js'
import { migProfileFacts } from './mig-facts.js'
import { architectures, brands } from './nvml-return.js'

/** Version of the emulated driver. */
export const DRIVER_VERSION = '550.144.03'
export const NVML_VERSION = '12.550.144.03'
/** CUDA version 12.4 in the driver's encoding. */
export const CUDA_DRIVER_VERSION = 12_040

const pcieGenerations: Readonly<Record<string, number>> = {
  Pascal: 3,
  Volta: 3,
  Turing: 3,
  Ampere: 4,
  Ada: 4,
  Hopper: 5,
}
const NEWEST_PCIE = 5

/** FP32 units per SM by compute capability (CUDA C++ Programming Guide). */
const coresPerSm: Readonly<Record<string, number>> = {
  '6.0': 64,
  '7.0': 64,
  '7.5': 64,
  '8.0': 64,
  '8.6': 128,
  '8.9': 128,
  '9.0': 128,
}

/**
 * PCI device ids (from pci.ids) by product name; the first matching pattern applies. The vendor id, 10DE, is added
 * elsewhere.
 */
const pciDeviceIds: readonly (readonly [RegExp, number])[] = [
  [/3080 Ti/, 0x2208],
  [/3090/, 0x2204],
  [/A100.*80/, 0x20b5],
  [/A100.*SXM/, 0x20b0],
  [/A100/, 0x20f1],
  [/A10\b/, 0x2236],
  [/V100.*SXM/, 0x1db1],
  [/V100/, 0x1db4],
  [/T4/, 0x1eb8],
  [/H200/, 0x2335],
  [/H100/, 0x2330],
]

/** Returns the constant properties of a board that the driver reports, including those that `GpuSpec` lacks. */
export function driverFacts(
  spec: GpuSpec,
  index: number,
  seed: number,
  reservedBytes: number,
  hostName?: string,
): BoardIdentity {
  const geforce = /GeForce/.test(spec.name)
  const hbm = spec.memoryBusBits >= 1024
  const [major = 0, minor = 0] = spec.computeCapability.split('.').map(Number)
  const pciBus = index + 1
  const pciDeviceId = pciDeviceIds.find(([pattern]) => pattern.test(spec.name))?.[1] ?? 0x2200
  const profiles = migProfileFacts(spec)
  const states = [...spec.clockStates].sort((a, b) => b.memClockMhz - a.memClockMhz)
  return {
    name: spec.name,
    uuid: boardUuid(spec, seed, hostName),
    busId: `00000000:${hex(pciBus, 2)}:00.0`,
    driverVersion: DRIVER_VERSION,
    nvmlVersion: NVML_VERSION,
    vbiosVersion: '94.00.00.00.00',
    cudaDriverVersion: CUDA_DRIVER_VERSION,
    pciDomain: 0,
    pciBus,
    pciDevice: 0,
    pciDeviceId: ((pciDeviceId << 16) | 0x10de) >>> 0,
    pciSubsystemId: ((pciDeviceId << 16) | 0x10de) >>> 0,
    brand: geforce
      ? brands.GeForce
      : ['Pascal', 'Volta', 'Turing'].includes(spec.architecture)
        ? brands.Tesla
        : brands.NVIDIA,
    // NVML's number for an unknown architecture is the largest of 32 bits.
    architecture: architectures.findIndex((name) => name.startsWith(spec.architecture)) >>> 0,
    computeMajor: major,
    computeMinor: minor,
    coreCount: spec.smCount * (coresPerSm[spec.computeCapability] ?? 128),
    memoryBusBits: spec.memoryBusBits,
    pcieGenMax: pcieGenerations[spec.architecture] ?? NEWEST_PCIE,
    pcieWidthMax: 16,
    hasEcc: geforce ? 0 : 1,
    hasMig: profiles.length > 0 ? 1 : 0,
    hasMemoryTemperature: hbm ? 1 : 0,
    hasApplicationClocks: geforce ? 0 : 1,
    // Since Ampere, the driver reports instantaneous power in addition to average power.
    hasInstantPower: major >= 8 ? 1 : 0,
    fanCount: geforce ? 2 : 0,
    memoryTotalBytes: spec.memoryBytes,
    memoryReservedBytes: reservedBytes,
    bar1TotalBytes: geforce ? 256 * 1024 ** 2 : 2 ** Math.ceil(Math.log2(spec.memoryBytes)),
    powerMinMw: 1000 * spec.powerLimitW.min,
    powerDefaultMw: 1000 * spec.powerLimitW.default,
    powerMaxMw: 1000 * spec.powerLimitW.max,
    temperatureMaxC: spec.thermalLimitC,
    temperatureSlowdownC: spec.thermalLimitC + (geforce ? 2 : 4),
    temperatureShutdownC: spec.thermalLimitC + (geforce ? 5 : 7),
    defaultSmClockMhz: spec.boostClockMhz,
    memClocksMhz: states.map((state) => state.memClockMhz),
    smClockCounts: states.map((state) => state.smClocksMhz.length),
    smClocksMhz: states.flatMap((state) =>
      padded(
        [...state.smClocksMhz].sort((a, b) => b - a),
        MAX_SM_CLOCKS,
      ),
    ),
    migProfiles: profiles,
  }
}

/**
 * Returns a UUID in the driver's format. It depends only on the board, the seed and the host's name, so scripts can
 * rely on it.
 */
function boardUuid(spec: GpuSpec, seed: number, hostName: string | undefined): string {
  return `GPU-${uuidDigits(hostName === undefined ? seedFrom(spec.key, seed, 'uuid') : seedFrom(spec.key, seed, 'uuid', hostName))}`
}

/**
 * Returns the UUID of a MIG device. It depends only on the board and the instance ids, so a recreated instance gets the
 * same UUID.
 */
export function migUuid(boardUuid: string, gpuInstanceId: number, computeInstanceId: number): string {
  return `MIG-${uuidDigits(seedFrom(boardUuid, gpuInstanceId, computeInstanceId))}`
}

function uuidDigits(seed: number): string {
  const random = new SeededRandom(seed)
  const digits = (count: number) =>
    Array.from({ length: count }, () => hex(Math.floor(random.uniform() * 16), 1).toLowerCase()).join('')
  return [8, 4, 4, 4, 12].map(digits).join('-')
}

function hex(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0')
}

function padded(values: readonly number[], length: number): number[] {
  return Array.from({ length }, (_, i) => values[i] ?? 0)
}
