/**
 * A microbenchmark. A tenant whose model has this name repeats it. The fields describe the work of one sample, in half
 * precision.
 */
export interface Probe {
  readonly name: string
  readonly batchSize: number
  readonly flop: number
  readonly bytes: number
}

/**
 * Number of heads of the attention benchmark, each of 128 features over 2048 positions. All shapes here equal those in
 * `pctodl_resident_networks.py` and in gpu-sim.
 */
const HEADS = 32
const FEATURES = 128
const POSITIONS = 2048
const COPIED_ELEMENTS = 2 ** 27
const keysAndValues = 2 * HEADS * POSITIONS * FEATURES

export const probes: readonly Probe[] = [
  { name: 'gemm_8192', batchSize: 1, flop: 2 * 8192 ** 3, bytes: 6 * 8192 ** 2 },
  { name: 'gemm_1024', batchSize: 128, flop: 2 * 1024 ** 3, bytes: 6 * 1024 ** 2 },
  {
    name: 'attention_prefill',
    batchSize: 8,
    flop: 4 * HEADS * POSITIONS ** 2 * FEATURES,
    bytes: 4 * keysAndValues,
  },
  {
    name: 'attention_decode',
    batchSize: 64,
    flop: 2 * keysAndValues,
    bytes: 2 * keysAndValues,
  },
  { name: 'stream_copy', batchSize: 8, flop: 0, bytes: 4 * COPIED_ELEMENTS },
]

/** A network that is measured besides the zoo's seven: an encoder with 12 layers, 768 features and 128 positions. */
export const TRANSFORMER = 'transformer'
