import { a10, a100Pcie40, a100Sxm80, rtx3080Ti, rtx3090 } from './boards/ampere.js'
import { h100Sxm, h200Sxm } from './boards/hopper.js'
import { otherBoards } from './boards/other-boards.js'
import { t4, v100Sxm2 } from './boards/volta-turing.js'
import { InvalidInputError, UnknownNameError } from './errors.js'
import type { GpuSpec } from './gpu-spec.js'
import { readPlatform } from './platform-file.js'

const shipped = [rtx3080Ti, a100Pcie40, rtx3090, a10, a100Sxm80, v100Sxm2, t4, h100Sxm, h200Sxm, ...otherBoards]

/** Boards that this package includes, by key. */
export const gpuSpecs: Readonly<Record<string, GpuSpec>> = Object.fromEntries(shipped.map((spec) => [spec.key, spec]))

/** Boards added by `addGpuSpec`, by key. */
const added = new Map<string, GpuSpec>()

/**
 * Registers a board under its key, name and aliases. It replaces an included board with the same key and chip, because
 * a spec that was read from a real board is more precise than the included one.
 *
 * @throws PlatformFileError for an invalid field; InvalidInputError if the key belongs to a board with another chip
 */
export function addGpuSpec(given: GpuSpec): void {
  const spec = readPlatform(given, 'spec')
  const known = gpuSpecs[spec.key]
  if (known !== undefined && known.chip !== spec.chip) {
    throw new InvalidInputError('spec.key', spec.key, `a name of its own: ${spec.key} is a board with ${known.chip}`)
  }
  added.set(spec.key, spec)
}

/**
 * Finds a board by key, product name or alias. Case, blanks and punctuation are ignored, but the name must match as a
 * whole (`A10` is not an `A100`).
 *
 * @throws UnknownNameError listing the known boards; InvalidInputError for a value that is not a string
 */
export function findGpuSpec(name: string): GpuSpec {
  if (typeof name !== 'string') {
    throw new InvalidInputError('GPU', name, `the name of a board: ${Object.keys(gpuSpecs).join(', ')}`)
  }
  const wanted = plain(name)
  for (const spec of [...added.values(), ...Object.values(gpuSpecs)]) {
    const names = [spec.key, spec.name, ...spec.aliases].map(plain)
    if (names.includes(wanted) || names.includes(`nvidia${wanted}`)) return spec
  }
  throw new UnknownNameError('GPU', name, [...Object.keys(gpuSpecs), ...added.keys()])
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
}
