import { a10, a100Pcie40, a100Sxm80, rtx3080Ti, rtx3090 } from './boards/ampere.js'
import { h100Sxm, h200Sxm } from './boards/hopper.js'
import { t4, v100Sxm2 } from './boards/volta-turing.js'
import { InvalidInputError, UnknownNameError } from './errors.js'
import type { GpuSpec } from './gpu-spec.js'

/** The boards that this release knows, by key. */
export const gpuSpecs: Readonly<Record<string, GpuSpec>> = Object.fromEntries(
  [rtx3080Ti, a100Pcie40, rtx3090, a10, a100Sxm80, v100Sxm2, t4, h100Sxm, h200Sxm].map((spec) => [spec.key, spec]),
)

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
  for (const spec of Object.values(gpuSpecs)) {
    const names = [spec.key, spec.name, ...spec.aliases].map(plain)
    if (names.includes(wanted) || names.includes(`nvidia${wanted}`)) return spec
  }
  throw new UnknownNameError('GPU', name, Object.keys(gpuSpecs))
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}
