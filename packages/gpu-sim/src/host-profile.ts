import type { GpuSpec } from '@pctodl/platform'
import { InvalidInputError } from '@pctodl/platform'
import paperHosts from '../coefficients/paper-hosts.json' with { type: 'json' }

/**
 * The machine and the framework that run a board's networks. They are described separately from the board, because the
 * same board can do four times as much work on another host.
 */
export interface HostProfile {
  readonly name: string
  /** Host time to launch one operator, us. */
  readonly launchUs: number
  /** Operators that all processes together can launch per second, 1/s. */
  readonly launchCapacityPerS: number
  /** Host time per input image (conversion and copy), us. */
  readonly imageHostUs: number
  /**
   * Additional host time per image if the input batch exceeds the host's cache, us. This happens from about
   * `spillBatch` images on.
   */
  readonly imageSpillUs: number
  readonly spillBatch: number
  /** Images that all processes together can prepare and copy per second, 1/s. */
  readonly imageCapacityPerS: number
  /**
   * Exponent of the p-norm that combines launch time and kernel time. 6: they run in parallel, and two equal times take
   * 12 % longer than one. 1: they run one after the other.
   */
  readonly overlap: number
  /**
   * Device time per kernel that depends on neither clock nor number of SMs, us: its start, its end, and the gap before
   * the next kernel.
   */
  readonly kernelFloorUs: number
  /**
   * Whether the framework stores channels first, while tensor units need channels last. Each result of a convolution on
   * tensor units is then copied once more, and convolutions attain at most the A100's rate per clock and SM. Default
   * false.
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

/** Values for hosts whose inputs were prepared elsewhere and are already on the device. */
const preparedInputs = { imageHostUs: 0, imageSpillUs: 0, spillBatch: 45, imageCapacityPerS: 1e9 } as const

/** Launch times of eager PyTorch on a recent processor: 5 to 8 us per operator. */
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
    ...eagerPytorch,
    name: 'tensorrt-like',
    launchUs: 1.5,
    launchCapacityPerS: 5e6,
    kernelFloorUs: 3,
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
 * Returns the host of a board: the one that a name or a description selects, or its usual one. The usual host of the
 * two calibrated boards is `paper`, on which they were measured. For all others it is `eager-pytorch`, because nothing
 * suggests a slower host.
 *
 * @throws InvalidInputError for an unknown name
 */
export function hostOfBoard(spec: GpuSpec, host?: HostName | HostProfile): HostProfile {
  if (typeof host === 'object') return host
  const paper = paperHosts as Readonly<Record<string, Omit<HostProfile, 'name'>>>
  const name = host ?? (spec.key in paper ? 'paper' : 'eager-pytorch')
  // The paper's authors had two boards. Other boards get the host of their data-centre board, the A100.
  if (name === 'paper') return { name, ...(paper[spec.key] ?? paper['A100']!) }
  if (Object.hasOwn(hosts, name)) return hosts[name]
  throw new InvalidInputError('host', host, `'${hostNames.join("', '")}' or a host profile`)
}
