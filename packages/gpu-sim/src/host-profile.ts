import type { GpuSpec } from '@pctodl/platform'
import { InvalidInputError } from '@pctodl/platform'
import paperHosts from '../coefficients/paper-hosts.json' with { type: 'json' }

/**
 * The machine and framework that feed a board. Separate from the board, because the same board does four times as much
 * work in another host.
 */
export interface HostProfile {
  readonly name: string
  /** Host time to launch one operator, us. */
  readonly launchUs: number
  /** Operators that all clients together can launch per second, 1/s. */
  readonly launchCapacityPerS: number
  /** Host time per image (conversion and copy), us. */
  readonly imageHostUs: number
  /**
   * Additional host time per image once the input batch no longer fits the host's cache (from about `spillBatch` images
   * on), us.
   */
  readonly imageSpillUs: number
  readonly spillBatch: number
  /** Images that all clients together can prepare and copy per second, 1/s. */
  readonly imageCapacityPerS: number
  /**
   * Exponent of the p-norm that combines the times of launches and kernels. 6: in parallel, 12 % longer than either
   * when equal. 1: one after the other.
   */
  readonly overlap: number
  /**
   * Device time per kernel that depends on neither clock nor SMs, us: its start, its end, and the gap to the next
   * kernel.
   */
  readonly kernelFloorUs: number
  /**
   * Whether each convolution result on tensor units is copied once more. Tensor units need channels last; some
   * frameworks keep channels first. Default false.
   */
  readonly channelsFirst?: boolean
  /**
   * Whether attention is one kernel that writes no scores, as in PyTorch since 2.0 and in compiled engines. Default
   * false.
   */
  readonly fusesAttention?: boolean
  /** Whether normalisation, activation and sums are computed within the preceding kernel, as in compiled engines. */
  readonly fuses: boolean
}

/** Names of the hosts that any board can have. */
export const hostNames = ['paper', 'eager-pytorch', 'eager-pytorch-nchw', 'tensorrt-like', 'device-only'] as const
export type HostName = (typeof hostNames)[number]

/** Inputs are prepared elsewhere or in advance and lie on the device. */
const preparedInputs = { imageHostUs: 0, imageSpillUs: 0, spillBatch: 45, imageCapacityPerS: 1e9 } as const

/**
 * Launch times of a recent processor under eager PyTorch, 5 to 8 us per operator. Engines fuse operators and replay a
 * graph.
 */
const eagerPytorch: HostProfile = {
  name: 'eager-pytorch',
  launchUs: 6.5,
  launchCapacityPerS: 1.2e6,
  ...preparedInputs,
  overlap: 6,
  kernelFloorUs: 4,
  fusesAttention: true,
  fuses: false,
}

const hosts: Readonly<Record<Exclude<HostName, 'paper'>, HostProfile>> = {
  'eager-pytorch': eagerPytorch,
  'eager-pytorch-nchw': { ...eagerPytorch, name: 'eager-pytorch-nchw', channelsFirst: true },
  'tensorrt-like': {
    name: 'tensorrt-like',
    launchUs: 1.5,
    launchCapacityPerS: 5e6,
    ...preparedInputs,
    overlap: 6,
    kernelFloorUs: 3,
    fusesAttention: true,
    fuses: true,
  },
  'device-only': {
    name: 'device-only',
    launchUs: 0,
    launchCapacityPerS: 1e12,
    ...preparedInputs,
    overlap: 6,
    kernelFloorUs: 2,
    fuses: false,
  },
}

/**
 * Returns the host of a board: by name, by description, or its usual one. The usual host of the two calibrated boards
 * is `paper`, on which they were measured. For all others it is `eager-pytorch`, since nothing suggests a slow host.
 *
 * @throws InvalidInputError for an unknown name
 */
export function hostOfBoard(spec: GpuSpec, host?: HostName | HostProfile): HostProfile {
  if (typeof host === 'object') return host
  const paper = paperHosts as Readonly<Record<string, Omit<HostProfile, 'name'>>>
  const name = host ?? (spec.key in paper ? 'paper' : 'eager-pytorch')
  // A board that the paper's authors did not have gets the host of their data-centre board.
  if (name === 'paper') return { name, ...(paper[spec.key] ?? paper['A100']!) }
  const known = hosts[name]
  if (!known) throw new InvalidInputError('host', host, `'${hostNames.join("', '")}' or a host profile`)
  return known
}
