import { a10, a100Pcie40, a100Sxm80, rtx3080Ti, rtx3090 } from './boards/ampere.js'
import { h100Sxm, h200Sxm } from './boards/hopper.js'
import { otherBoards } from './boards/other-boards.js'
import { t4, v100Sxm2 } from './boards/volta-turing.js'
import { InvalidInputError, UnknownNameError } from './errors.js'
import type { GpuSpec } from './gpu-spec.js'

const shipped = [rtx3080Ti, a100Pcie40, rtx3090, a10, a100Sxm80, v100Sxm2, t4, h100Sxm, h200Sxm, ...otherBoards]

/** The boards that this release knows, by key. */
export const gpuSpecs: Readonly<Record<string, GpuSpec>> = Object.fromEntries(shipped.map((spec) => [spec.key, spec]))

/** Those of files, by key: what `addGpuSpec` got. */
const added = new Map<string, GpuSpec>()

/**
 * Make a board findable by its key, name and aliases, as those of the release are. One with the key of a board of the release stands for it,
 * for it may have been described from such a board.
 *
 * @throws InvalidInputError where the key is that of a board with another chip
 */
export function addGpuSpec(spec: GpuSpec): void {
  const known = gpuSpecs[spec.key]
  if (known !== undefined && known.chip !== spec.chip) {
    throw new InvalidInputError('spec.key', spec.key, `a name of its own: ${spec.key} is a board with ${known.chip}`)
  }
  added.set(spec.key, spec)
}

/**
 * Find a board by key, product name or alias; case, blanks and punctuation do not matter, but the whole name must match
 * (`A10` is not an `A100`).
 *
 * @throws UnknownNameError listing the boards that exist; InvalidInputError for what is no name
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
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}
