import { InvalidInputError } from '@pctodl/platform'

/** A decoder-only language model, described by the sizes that determine its work. */
export interface Decoder {
  readonly family: string
  readonly layers: number
  readonly hidden: number
  readonly heads: number
  readonly kvHeads: number
  readonly headDim: number
  /** Inner size of the dense feed-forward network, features. */
  readonly inter: number
  readonly vocabulary: number
  /** Whether the input embedding and the output layer are the same matrix. */
  readonly tied: boolean
  /** Sliding window of each layer, tokens; 0 for full attention. */
  readonly windows: readonly number[]
  readonly experts: DecoderExperts | null
  /** Longest context that the configuration allows, tokens. */
  readonly maxContext: number
}

export interface DecoderExperts {
  readonly count: number
  readonly topk: number
  readonly inter: number
  /** Inner size of the shared expert, which every token passes through, features; 0 if there is none. */
  readonly sharedInter: number
  /** Number of layers with experts; all other layers are dense. */
  readonly layers: number
}

/** One operator of a pass over the decoder, run `count` times. */
export type DecoderOperator = { readonly name: string; readonly count: number } & (
  | { readonly kind: 'gemm'; readonly m: number; readonly n: number; readonly k: number }
  | {
      readonly kind: 'prefill' | 'decode'
      readonly batch: number
      /** Tokens of each sequence; in a decode step, only the cached ones. */
      readonly length: number
      readonly heads: number
      readonly kvHeads: number
      readonly headDim: number
      readonly window: number
    }
  | {
      readonly kind: 'moe'
      readonly tokens: number
      readonly hidden: number
      readonly inter: number
      readonly topk: number
      readonly experts: number
    }
  /** Norms, rotations, activations and residual sums: number of elements read and written. */
  | { readonly kind: 'elementwise'; readonly elements: number }
)

export interface DecoderPass {
  readonly phase: 'prefill' | 'decode'
  readonly batch: number
  /**
   * Prefill: tokens of each sequence's prompt. Decode: tokens of each sequence that are in the cache before the step.
   */
  readonly length: number
}

const families = [
  'llama',
  'mistral',
  'mixtral',
  'qwen2',
  'qwen2_moe',
  'qwen3',
  'qwen3_moe',
  'gemma',
  'gemma2',
  'gemma3_text',
  'phi3',
  'gpt_oss',
]

/** Fields of structures that would change the work, and the names of these structures. */
const unsupported: Readonly<Record<string, string>> = {
  kv_lora_rank: 'latent attention (MLA)',
  text_config: 'other inputs than text (pass the object in text_config)',
  is_encoder_decoder: 'an encoder',
  use_bidirectional_attention: 'attention to later tokens',
  attention_chunk_size: 'attention in chunks',
  dual_chunk_attention_config: 'attention in chunks',
  num_kv_shared_layers: 'layers that share a cache',
  num_key_value_heads_per_layer: 'layers of different sizes',
  block_configs: 'layers of different sizes',
  attn_layer_period: 'layers without attention',
  n_routed_experts: "DeepSeek's experts",
  n_shared_experts: "DeepSeek's experts",
  first_k_dense_replace: "DeepSeek's experts",
}

/**
 * Reads a Hugging Face `config.json`.
 *
 * @throws InvalidInputError naming the field that is missing or wrong, or the architecture if it is not supported
 */
export function decoderFromConfig(json: unknown): Decoder {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new InvalidInputError('config', json, 'the object of a Hugging Face config.json')
  const config = json as Record<string, unknown>
  const family = config['model_type']
  for (const [field, structure] of Object.entries(unsupported)) {
    const value = config[field]
    if (value != null && value !== false && value !== 0)
      throw new InvalidInputError(field, value, `a model without ${structure}, which is not supported`)
  }
  if (typeof family !== 'string' || !families.includes(family))
    throw new InvalidInputError('model_type', family, `one of ${families.join(', ')}`)
  const classes = config['architectures'] ?? []
  if (!Array.isArray(classes) || !classes.every((name) => /ForCausalLM$/.test(name)))
    throw new InvalidInputError('architectures', classes, "names that end in 'ForCausalLM'")
  const size: SizeOf = (field, fallback, most = LARGEST_SIZE) => {
    const value = config[field] ?? fallback
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > most)
      throw new InvalidInputError(field, value, `a whole number from 1 to ${most}; give it in config.json`)
    return value
  }
  const layers = size('num_hidden_layers', undefined, MAX_LAYERS)
  const hidden = size('hidden_size')
  const heads = size('num_attention_heads')
  // Other families have heads of any width, and their configs leave out what equals the defaults of Hugging Face.
  const derived = !/^(gemma|qwen3|gpt_oss)/.test(family)
  const kvHeads = size('num_key_value_heads', derived ? heads : undefined)
  if (heads % kvHeads !== 0)
    throw new InvalidInputError('num_key_value_heads', kvHeads, `a divisor of num_attention_heads, ${heads}`)
  if (config['head_dim'] == null && derived && hidden % heads !== 0)
    throw new InvalidInputError(
      'hidden_size',
      hidden,
      `a multiple of num_attention_heads, ${heads}, or a head_dim beside it`,
    )
  return {
    family,
    layers,
    hidden,
    heads,
    kvHeads,
    headDim: size('head_dim', derived ? hidden / heads : undefined),
    inter: size('intermediate_size'),
    vocabulary: size('vocab_size'),
    tied: flag(config, 'tie_word_embeddings', family.startsWith('gemma')),
    windows: windowsOf(config, family, layers, size),
    experts: expertsOf(config, family, layers, size),
    maxContext: size('max_position_embeddings', 131072),
  }
}

/** Larger sizes are mistakes: no real model has them, and they would exhaust memory. */
const LARGEST_SIZE = 1e8
const MAX_LAYERS = 10_000

type SizeOf = (field: string, fallback?: number, most?: number) => number

function flag(config: Record<string, unknown>, field: string, fallback: boolean): boolean {
  const value = config[field] ?? fallback
  if (typeof value !== 'boolean') throw new InvalidInputError(field, value, 'true or false')
  return value
}

function windowsOf(config: Record<string, unknown>, family: string, layers: number, size: SizeOf): number[] {
  const all = (window: (layer: number) => number) => Array.from({ length: layers }, (_, layer) => window(layer))
  const types = config['layer_types']
  const known = ['full_attention', 'sliding_attention']
  if (
    types != null &&
    !(Array.isArray(types) && types.length === layers && types.every((type) => known.includes(type)))
  )
    throw new InvalidInputError('layer_types', types, `one of '${known.join("' or '")}' for each of ${layers} layers`)
  const slides = Array.isArray(types) && types.includes('sliding_attention')
  const qwen = family.startsWith('qwen')
  if (!flag(config, 'use_sliding_window', !qwen)) return all(() => 0)
  if (config['sliding_window'] === undefined && (qwen || /^(mistral|gemma[23]|gpt_oss)/.test(family)))
    throw new InvalidInputError('sliding_window', undefined, 'its tokens, or null for none; give it in config.json')
  if (config['sliding_window'] == null && !slides) return all(() => 0)
  const window = size('sliding_window')
  if (Array.isArray(types)) return all((layer) => (types[layer] === 'sliding_attention' ? window : 0))
  if (family === 'gemma2' || family === 'gpt_oss') return all((layer) => (layer % 2 === 0 ? window : 0))
  if (family === 'gemma3_text') {
    const pattern = size('sliding_window_pattern', 6)
    return all((layer) => ((layer + 1) % pattern === 0 ? 0 : window))
  }
  if (qwen) return all((layer) => (layer < size('max_window_layers') ? 0 : window))
  return all(() => window)
}

function expertsOf(
  config: Record<string, unknown>,
  family: string,
  layers: number,
  size: SizeOf,
): DecoderExperts | null {
  const [local, moe] = [family === 'mixtral' || family === 'gpt_oss', family.endsWith('_moe')]
  const field = local || config['num_local_experts'] != null ? 'num_local_experts' : 'num_experts'
  if (config[field] == null && !local && !moe) return null
  const [count, topk, step] = [size(field), size('num_experts_per_tok'), size('decoder_sparse_step', 1)]
  if (topk > count) throw new InvalidInputError('num_experts_per_tok', topk, `at most ${field}, ${count}`)
  const dense: unknown = config['mlp_only_layers'] ?? []
  const isLayer = (i: unknown) => Number.isInteger(i) && (i as number) >= 0 && (i as number) < layers
  if (!Array.isArray(dense) || !dense.every(isLayer))
    throw new InvalidInputError('mlp_only_layers', dense, `a list of layers from 0 to ${layers - 1}`)
  const sparse = Array.from({ length: layers }, (_, i) => i).filter((i) => !dense.includes(i) && (i + 1) % step === 0)
  return {
    count,
    topk,
    inter: size('moe_intermediate_size', moe ? undefined : size('intermediate_size')),
    sharedInter:
      family === 'qwen2_moe' || (config['shared_expert_intermediate_size'] ?? 0) !== 0
        ? size('shared_expert_intermediate_size')
        : 0,
    layers: sparse.length,
  }
}

/** Number of weights in the matrices and embeddings, without norms. */
export function decoderParameters(decoder: Decoder): number {
  const { layers, hidden, heads, kvHeads, headDim, inter, vocabulary, tied, experts } = decoder
  const attention = hidden * headDim * (2 * heads + 2 * kvHeads)
  const sparse = experts?.layers ?? 0
  const expert = experts
    ? 3 * hidden * (experts.count * experts.inter + experts.sharedInter) + hidden * experts.count
    : 0
  return (
    layers * attention + (layers - sparse) * 3 * hidden * inter + sparse * expert + (tied ? 1 : 2) * vocabulary * hidden
  )
}

/** Bytes of cached keys and values for sequences with `length` tokens. */
export function kvCacheBytes(
  { windows, kvHeads, headDim }: Decoder,
  batch: number,
  length: number,
  bytesPerElement: number,
): number {
  const tokens = windows.reduce((sum, window) => sum + (window === 0 ? length : Math.min(window, length)), 0)
  return 2 * batch * tokens * kvHeads * headDim * bytesPerElement
}

/**
 * Returns the operators that one board runs in a prefill, or in a decode step, which produces one token per sequence.
 */
export function decoderOperators(decoder: Decoder, { phase, batch, length }: DecoderPass): DecoderOperator[] {
  const { layers, hidden, heads, kvHeads, headDim, inter, vocabulary, windows, experts } = decoder
  const m = phase === 'prefill' ? batch * length : batch
  const gemm = (name: string, count: number, n: number, k: number, rows = m): DecoderOperator => {
    return { kind: 'gemm', name, count, m: rows, n, k }
  }
  const elementwise = (name: string, count: number, perToken: number): DecoderOperator => {
    return { kind: 'elementwise', name, count, elements: m * perToken }
  }
  const sparse = experts?.layers ?? 0
  const dense = layers - sparse
  const list: DecoderOperator[] = [
    gemm('qkv', layers, (heads + 2 * kvHeads) * headDim, hidden),
    gemm('attention output', layers, hidden, heads * headDim),
    elementwise('norms and residuals', 2 * layers, 4 * hidden),
    elementwise('rotation', layers, 2 * (heads + kvHeads) * headDim),
    gemm('feed-forward in', dense, 2 * inter, hidden),
    elementwise('activation', dense, 3 * inter),
    gemm('feed-forward out', dense, hidden, inter),
    gemm('vocabulary', 1, vocabulary, hidden, batch),
  ]
  if (experts) {
    const { count, topk, inter: own, sharedInter } = experts
    list.push({ kind: 'moe', name: 'experts', count: sparse, tokens: m, hidden, inter: own, topk, experts: count })
    list.push(gemm('router', sparse, count, hidden))
    if (sharedInter > 0)
      list.push(
        gemm('shared expert in', sparse, 2 * sharedInter, hidden),
        gemm('shared expert out', sparse, hidden, sharedInter),
      )
  }
  for (const window of new Set(windows)) {
    const count = windows.filter((each) => each === window).length
    list.push({ kind: phase, name: 'attention', count, batch, length, heads, kvHeads, headDim, window })
  }
  return list.filter(({ count }) => count > 0)
}
