import type { OperatorBoard } from './operator-board.js'

/** Number format of a product, named as in serving frameworks. */
export type OperatorDtype = keyof typeof formats

/** For each format: index into `peakTflops`, bytes per activation, bytes per weight. */
const formats = {
  bfloat16: [0, 2, 2],
  fp8: [1, 1, 1],
  fp8_block: [1, 1, 1],
  nvfp4: [3, 0.5625, 0.5625],
  int8_sq: [2, 1, 1],
  int8_wo: [0, 2, 1],
  int4_wo: [0, 2, 0.53],
  w4a16_mxfp4: [0, 2, 0.53],
} as const

export const operatorDtypes = Object.keys(formats) as readonly OperatorDtype[]

/** Matrix product (m x k) by (k x n). */
export interface Gemm {
  readonly kind: 'gemm'
  readonly dtype: OperatorDtype
  readonly m: number
  readonly n: number
  readonly k: number
}

/**
 * Causal attention of `batch` sequences: over all `length` tokens (prefill), or of one new token over `length` cached
 * tokens (decode).
 */
export interface Attention {
  readonly kind: 'prefill' | 'decode'
  readonly dtype: OperatorDtype
  readonly kvDtype: 'bfloat16' | 'fp8'
  readonly batch: number
  readonly length: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  /** Sliding window in tokens; 0 for none. */
  readonly window: number
}

/** The routed experts of one layer of a mixture-of-experts model. */
export interface Moe {
  readonly kind: 'moe'
  readonly dtype: OperatorDtype
  readonly tokens: number
  readonly hidden: number
  readonly inter: number
  readonly topk: number
  readonly experts: number
  /** True if some experts receive far more tokens than others. */
  readonly skewed: boolean
  /** Number of experts that receive a token (default: as in the measurements). */
  readonly hit?: number
}

export type Operator = Gemm | Attention | Moe

/** Work of an operator on a board, and its roofline time. */
export interface OperatorWork {
  readonly flop: number
  /** Memory traffic if each operand is read or written once, bytes. */
  readonly bytes: number
  /** Roofline time of the tensor cores, before any fit, s. */
  readonly computeS: number
  /** Roofline time of the memory, s. */
  readonly memoryS: number
  /** Smooth maximum of `computeS` and `memoryS`, plus a launch, s. */
  readonly baseS: number
  /** Inputs of the fitted efficiency, in a fixed order. */
  readonly traits: readonly number[]
}

const launchS = 4e-6
const log2 = Math.log2
const hinges = (x: number, ...knots: readonly number[]) => knots.map((knot) => Math.max(0, x - knot))
/** Logarithm of the slowdown by a partly filled last wave of blocks. */
const waveLoss = (waves: number) => Math.log(Math.ceil(waves) / waves)

/** Smooth maximum of two times (3-norm). */
export function smoothMax(a: number, b: number): number {
  return Math.cbrt(a ** 3 + b ** 3)
}

/**
 * Peak rate of the products in a format, FLOP/s.
 *
 * @param dtype format of the product; the board must have a peak for it
 */
export function peakFlops(board: OperatorBoard, dtype: OperatorDtype): number {
  return board.peakTflops[formats[dtype][0]] * 1e12
}

export function weightBytes(dtype: OperatorDtype): number {
  return formats[dtype][2]
}

/** Format of all products but those of routed experts. In MXFP4 models, only the experts are quantised. */
export function denseDtype(dtype: OperatorDtype): OperatorDtype {
  return dtype === 'w4a16_mxfp4' ? 'bfloat16' : dtype
}

export function operatorWork(operator: Operator, board: OperatorBoard): OperatorWork {
  if (operator.kind === 'gemm') return gemmWork(operator, board)
  if (operator.kind === 'moe') return moeWork(operator, board)
  return operator.kind === 'prefill' ? prefillWork(operator, board) : decodeWork(operator, board)
}

/** Tile height, tile width, and the fraction of the peak that tiles of this size reach. */
const tiles = [
  [128, 256, 0.8],
  [128, 128, 0.74],
  [64, 128, 0.6],
  [128, 64, 0.6],
  [64, 64, 0.48],
  [64, 32, 0.32],
  [32, 64, 0.32],
  [16, 64, 0.16],
] as const

/**
 * Time of matrix products in whole waves of tiles over the SMs, for the best tile size and split of k, s.
 *
 * @param random whether `m` is the mean of random numbers of rows, whose last tiles are half full on average
 */
function tiledS(
  m: number,
  n: number,
  k: number,
  groups: number,
  peak: number,
  board: OperatorBoard,
  random = false,
): number {
  let best = Number.POSITIVE_INFINITY
  for (const [height, width, efficiency] of tiles) {
    const count = (random ? Math.max(1, m / height + 0.5) : Math.ceil(m / height)) * Math.ceil(n / width) * groups
    for (const split of [1, 2, 4, 8, 16]) {
      const waves = Math.ceil((count * split) / board.smCount)
      const compute = (waves * 2 * height * width * (k / split + 128) * board.smCount) / (peak * efficiency)
      const reduce = split === 1 ? 0 : (split * m * n * groups * 4) / (board.bandwidthTBs * 1e12)
      best = Math.min(best, compute + reduce)
    }
  }
  return best
}

function gemmWork({ dtype, m, n, k }: Gemm, board: OperatorBoard): OperatorWork {
  const [, activation, weight] = formats[dtype]
  const quantise = activation < 2 ? m * k * (2 + activation) : 0
  const bytes = m * k * activation + n * k * weight + 2 * m * n + quantise
  const [lm, ln, lk] = [log2(m), log2(n), log2(k)]
  // A row beyond a tile starts another one: the step is measured at 128, 256, 512 rows, but not at 160 or 192. It ends at
  // 32 rows beyond the edge, where the next measurement is.
  const edge = m <= 128 ? 0 : Math.max(0, 1 - ((m - 1) % 128) / 31)
  const waves = (height: number, width: number) => (Math.ceil(m / height) * Math.ceil(n / width)) / board.smCount
  return workOf(
    2 * m * n * k,
    bytes,
    tiledS(m, n, k, 1, peakFlops(board, dtype), board),
    bytes / (0.85e12 * board.bandwidthTBs),
    (u) => [
      ...hinges(lm, 0, 4, 6, 8, 10, 12),
      ...hinges(ln, 0, 7, 9, 11, 13),
      ...hinges(lk, 0, 7, 9, 11, 13),
      (lm - ln) * u,
      (ln - lk) * u,
      (lm * ln) / 10,
      (lm * lk) / 10,
      (ln * lk) / 10,
      edge,
      (edge * lm) / 10,
      Math.log((Math.ceil(m / 128) * 128) / m),
      waveLoss(waves(128, 256)),
      waveLoss(waves(128, 128)),
    ],
  )
}

/**
 * Expected number of experts that receive a token, for the skewed routing of the measurements: loads are drawn from a
 * power law with exponent 1.2 and rounded to whole tokens.
 */
function hitBySkewed(choices: number, topk: number, experts: number, tokens: number): number {
  const [lowest, highest] = choices > experts ? [1, 0.8 * tokens] : [0.01, 2]
  const tail = (load: number) => load ** -0.2 - highest ** -0.2
  const mean = (highest ** 0.8 - lowest ** 0.8) / 4 / tail(lowest)
  const oneToken = Math.min(highest, Math.max(lowest, (mean * experts) / choices / 2))
  return Math.max(topk, (experts * tail(oneToken)) / tail(lowest))
}

function moeWork(operator: Moe, board: OperatorBoard): OperatorWork {
  const { dtype, tokens, hidden, inter, topk, experts, skewed } = operator
  const [, activation, weight] = formats[dtype]
  const measured = skewed ? hitBySkewed(tokens * topk, topk, experts, tokens) : Math.min(experts, tokens * topk)
  const { hit = measured } = operator
  const rows = (tokens * topk) / hit
  const bytes = 3 * hit * hidden * inter * weight + tokens * topk * (hidden * (activation + 4) + 3 * inter * activation)
  const peak = peakFlops(board, dtype)
  const lr = log2(rows)
  const s = skewed ? 1 : 0
  return workOf(
    6 * tokens * topk * hidden * inter,
    bytes,
    tiledS(rows, 2 * inter, hidden, hit, peak, board, skewed) + tiledS(rows, hidden, inter, hit, peak, board, skewed),
    bytes / (0.85e12 * board.bandwidthTBs),
    (u, x) => [
      ...hinges(log2(tokens), 0, 3, 6, 9, 12),
      ...hinges(lr, 0, 3, 5, 7),
      ...hinges(log2(hidden), 0, 12),
      ...hinges(log2(inter), 0, 9, 11),
      ...hinges(log2(experts), 0, 5, 7),
      log2(topk),
      log2(hit),
      s,
      s * u,
      s * x,
      (s * lr) / 10,
    ],
  )
}

const headDims = [64, 192, 256, 512]
const windows = [128, 1024, 8192]

function attentionTraits(operator: Attention, length: number, waves: number, steps: number, u: number, x: number) {
  const { heads, kvHeads, headDim, window, batch } = operator
  const [ls, lw, group] = [log2(length), log2(waves), log2(heads / kvHeads)]
  return [
    ...hinges(ls, 0, 5, 7, 9, 11, 13),
    ...hinges(lw, -12, -2, 0, 2, 4),
    ...hinges(group, 0, 2, 3, 4, 5),
    group > 0 ? 1 : 0,
    group * u,
    (group * log2(batch)) / 10,
    log2(heads),
    log2(batch * heads),
    ...headDims.flatMap((dim) => (dim === headDim ? [1, x, ls / 10, u] : [0, 0, 0, 0])),
    ...windows.flatMap((size) => (size === window ? [1, x, ls / 10] : [0, 0, 0])),
    waveLoss(waves * steps),
    waveLoss(waves / 2),
    (ls * log2(batch * kvHeads)) / 10,
    ...[7, 9, 11].flatMap((a) => [-3, -1, 1].map((b) => (Math.max(0, ls - a) * Math.max(0, lw - b)) / 10)),
    ...[-3, -1, 1].map((b) => (group * Math.max(0, lw - b)) / 10),
    (group * ls) / 10,
    group * x,
    log2(headDim) * Math.max(0, lw),
    x > 1 ? (ls * lw) / 10 : 0,
  ]
}

function prefillWork(operator: Attention, board: OperatorBoard): OperatorWork {
  const { dtype, batch, length, heads, kvHeads, headDim, window } = operator
  const peak = peakFlops(board, dtype)
  const span = window === 0 ? length : Math.min(window, length)
  const flop = 4 * batch * heads * headDim * ((span * (span + 1)) / 2 + (length - span) * span)
  const bytes = 4 * batch * length * headDim * (heads + kvHeads)
  const blocks = Math.ceil(length / 128)
  const waves = (batch * heads * blocks) / board.smCount
  const longest = (512 * headDim * Math.min(span + 128, length) * board.smCount) / peak
  return workOf(
    flop,
    bytes,
    Math.max((flop * blocks * 128) / length / peak, longest) / 0.6,
    bytes / (0.8e12 * board.bandwidthTBs),
    (u, x) => attentionTraits(operator, length, waves, 1, u, x),
  )
}

function decodeWork(operator: Attention, board: OperatorBoard): OperatorWork {
  const { dtype, kvDtype, batch, heads, kvHeads, headDim, window } = operator
  const length = window === 0 ? operator.length + 1 : Math.min(window, operator.length + 1)
  const perHead = headDim * length * (kvDtype === 'fp8' ? 1 : 2)
  const bytes = 2 * batch * kvHeads * perHead + 4 * batch * heads * headDim
  const group = heads / kvHeads
  const waves = (batch * kvHeads) / board.smCount
  // Cost of kernels with one block per query head: the blocks, and reading the cache from L2 once per head.
  const blocksS = (batch * heads * 1.2e-6) / board.smCount
  const perHeadS = (batch * heads * perHead) / (2e12 * board.bandwidthTBs)
  return workOf(
    4 * batch * heads * headDim * length,
    bytes,
    (4 * batch * kvHeads * Math.ceil(group / 16) * 16 * headDim * length) / (0.5 * peakFlops(board, dtype)),
    bytes / (0.85e12 * board.bandwidthTBs),
    (u, x) => {
      const base = launchS * Math.exp(x)
      const blocks = Math.log1p(blocksS / base)
      const reads = Math.log1p(perHeadS / base)
      const all = [blocks, reads, Math.log1p((blocksS + perHeadS) / base)]
      const wide = group >= 48 ? 1 : 0
      return [
        ...attentionTraits(operator, length, waves, Math.ceil(length / 512), u, x),
        ...all,
        ...all.map((term) => term * wide),
        ...all.map((term) => (group === 1 ? term : 0)),
        wide,
      ]
    },
  )
}

/**
 * Assemble the work of an operator from its roofline times.
 *
 * @param own returns the operator-specific traits. Its arguments are u, the side of the roofline (-1 memory-bound to 1
 * compute-bound), and x, the logarithm of the base time in launches.
 */
function workOf(
  flop: number,
  bytes: number,
  computeS: number,
  memoryS: number,
  own: (u: number, x: number) => readonly number[],
): OperatorWork {
  const baseS = smoothMax(computeS, memoryS) + launchS
  const x = Math.log(baseS / launchS)
  const u = Math.tanh(Math.log(computeS / memoryS) / 1.5)
  const large = Math.max(0, x - 2)
  const common = [x, ...hinges(x, 0.5, 1, 2, 3, 5), u, u * u, u * x, u * u * x, u * large]
  return { flop, bytes, computeS, memoryS, baseS, traits: [...common, ...own(u, x)] }
}
