import { describe, expect, it } from 'vitest'
import { type Decoder, decoderFromConfig, decoderOperators, decoderParameters, kvCacheBytes } from '../src/index.js'

const llama8b = {
  model_type: 'llama',
  hidden_size: 4096,
  intermediate_size: 14336,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  vocab_size: 128256,
}
const mixtral = { ...llama8b, model_type: 'mixtral', vocab_size: 32000, num_local_experts: 8, num_experts_per_tok: 2 }
const qwen3Moe = {
  model_type: 'qwen3_moe',
  hidden_size: 2048,
  intermediate_size: 6144,
  moe_intermediate_size: 768,
  num_hidden_layers: 48,
  num_attention_heads: 32,
  num_key_value_heads: 4,
  head_dim: 128,
  vocab_size: 151936,
  num_experts: 128,
  num_experts_per_tok: 8,
}
const gemma2 = {
  model_type: 'gemma2',
  hidden_size: 3584,
  intermediate_size: 14336,
  num_hidden_layers: 42,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  head_dim: 256,
  vocab_size: 256000,
  sliding_window: 4096,
}

const gptOss = {
  model_type: 'gpt_oss',
  hidden_size: 2880,
  intermediate_size: 2880,
  num_hidden_layers: 36,
  num_attention_heads: 64,
  num_key_value_heads: 8,
  head_dim: 64,
  vocab_size: 201088,
  num_local_experts: 128,
  num_experts_per_tok: 4,
  sliding_window: 128,
}

const flopOf = (decoder: Decoder, phase: 'prefill' | 'decode', batch: number, length: number) =>
  decoderOperators(decoder, { phase, batch, length }).reduce((sum, operator) => {
    if (operator.kind === 'gemm') return sum + 2 * operator.count * operator.m * operator.n * operator.k
    if (operator.kind === 'moe')
      return sum + 6 * operator.count * operator.tokens * operator.topk * operator.hidden * operator.inter
    return sum
  }, 0)

describe('decoders from config.json', () => {
  it.each([
    ['Llama 3.1 8B', llama8b, 8.03],
    ['Mixtral 8x7B', mixtral, 46.7],
    ['Qwen3 30B A3B', qwen3Moe, 30.5],
    ['Gemma 2 9B', gemma2, 9.24],
    ['gpt-oss 120B', gptOss, 116.8],
  ])('%s has the published number of parameters', (_, config, billions) => {
    expect(decoderParameters(decoderFromConfig(config)) / 1e9 / billions).toBeCloseTo(1, 2)
  })

  it('does two FLOP for each weight and token, and in a prefill the output layer once a sequence', () => {
    const decoder = decoderFromConfig(llama8b)
    const embedding = 128256 * 4096
    const body = decoderParameters(decoder) - 2 * embedding
    expect(flopOf(decoder, 'decode', 3, 100)).toBe(2 * 3 * (body + embedding))
    expect(flopOf(decoder, 'prefill', 1, 100)).toBe(2 * (100 * body + embedding))
  })

  it('counts the active experts alone', () => {
    const decoder = decoderFromConfig(qwen3Moe)
    expect(flopOf(decoder, 'decode', 1, 1) / 2e9).toBeGreaterThan(2.9)
    expect(flopOf(decoder, 'decode', 1, 1) / 2e9).toBeLessThan(3.4)
  })

  it('keeps a window of the layers that slide', () => {
    const decoder = decoderFromConfig(gemma2)
    expect(decoder.windows.filter((window) => window === 4096)).toHaveLength(21)
    expect(kvCacheBytes(decoder, 1, 8192, 2)).toBe(2 * 21 * (8192 + 4096) * 8 * 256 * 2)
    const attention = decoderOperators(decoder, { phase: 'decode', batch: 1, length: 8192 }).filter(
      ({ kind }) => kind === 'decode',
    )
    expect(attention.map(({ count }) => count)).toEqual([21, 21])
  })

  it('attends to everything where a family with windows says that it has none', () => {
    const { windows } = decoderFromConfig({ ...llama8b, model_type: 'mistral', sliding_window: null })
    expect(windows).toEqual(Array(32).fill(0))
  })

  it('reads past fields that switch a structure off', () => {
    const off = {
      architectures: ['LlamaForCausalLM'],
      is_encoder_decoder: false,
      n_shared_experts: 0,
      kv_lora_rank: null,
    }
    expect(decoderFromConfig({ ...llama8b, ...off })).toEqual(decoderFromConfig(llama8b))
  })

  it('reads a shared expert of size 0 as none, as the config of Qwen3-Coder writes it', () => {
    const none = { ...qwen3Moe, shared_expert_intermediate_size: 0 }
    expect(decoderFromConfig(none)).toEqual(decoderFromConfig(qwen3Moe))
  })

  it.each([
    ['no object', 7, /config.*7/],
    ['latent attention', { ...llama8b, model_type: 'deepseek_v3', kv_lora_rank: 512 }, /kv_lora_rank.*512.*MLA/],
    ['another architecture', { ...llama8b, model_type: 'mamba' }, /model_type.*mamba.*llama/],
    ['a multimodal model', { model_type: 'gemma3', text_config: {} }, /text_config/],
    ['text beside other inputs', { ...llama8b, text_config: {} }, /text_config.*pass the object/],
    ['another head', { ...llama8b, architectures: ['LlamaForSequenceClassification'] }, /architectures.*ForCausalLM/],
    ['architectures that are text', { ...llama8b, architectures: 'LlamaForCausalLM' }, /architectures.*ForCausalLM/],
    ...[
      ['is_encoder_decoder', true],
      ['use_bidirectional_attention', true],
      ['attention_chunk_size', 8192],
      ['dual_chunk_attention_config', { chunk_size: 262144 }],
      ['num_kv_shared_layers', 12],
      ['num_key_value_heads_per_layer', [4, 2]],
      ['block_configs', [{}]],
      ['attn_layer_period', 8],
      ['n_routed_experts', 64],
      ['n_shared_experts', 2],
      ['first_k_dense_replace', 1],
    ].map(([field, value]): [string, object, RegExp] => [
      `a structure given by ${field}`,
      { ...llama8b, [field as string]: value },
      new RegExp(`${field}.*not supported`),
    ]),
    ['a missing size', { ...llama8b, hidden_size: undefined }, /hidden_size/],
    ['heads of a width that cannot be derived', { ...gemma2, head_dim: undefined }, /head_dim.*undefined/],
    ['a number of heads that cannot be derived', { ...gemma2, num_key_value_heads: undefined }, /num_key_value_heads/],
    ['a size that is text', { ...llama8b, vocab_size: '32000' }, /vocab_size.*32000/],
    ['heads that do not divide', { ...llama8b, num_key_value_heads: 7 }, /num_key_value_heads.*7.*32/],
    ['a size beyond all models', { ...llama8b, num_hidden_layers: 1e9 }, /num_hidden_layers.*1000000000.*1 to 10000/],
    ['a size without end', { ...llama8b, hidden_size: 1e300 }, /hidden_size.*1e\+300/],
    ['a flag that is text', { ...llama8b, tie_word_embeddings: 'yes' }, /tie_word_embeddings.*yes.*true or false/],
    ['kinds of too few layers', { ...gemma2, layer_types: ['full_attention'] }, /layer_types.*each of 42 layers/],
    [
      'a kind of layer that is unknown',
      { ...llama8b, layer_types: Array(32).fill('linear_attention') },
      /layer_types.*full_attention/,
    ],
    [
      'layers that slide over nothing',
      { ...llama8b, layer_types: Array(32).fill('sliding_attention') },
      /sliding_window.*1 to/,
    ],
    ['a dense layer that is not there', { ...qwen3Moe, mlp_only_layers: [48] }, /mlp_only_layers.*0 to 47/],
    ['experts without a number', { ...mixtral, num_local_experts: undefined }, /num_local_experts/],
    [
      'a family with experts that has none',
      { ...gptOss, num_local_experts: undefined },
      /num_local_experts.*undefined/,
    ],
    ['experts of unknown size', { ...qwen3Moe, moe_intermediate_size: undefined }, /moe_intermediate_size.*undefined/],
    ['a shared expert of unknown size', { ...qwen3Moe, model_type: 'qwen2_moe' }, /shared_expert_intermediate_size/],
    ['an unknown window', { ...gemma2, sliding_window: undefined }, /sliding_window.*undefined.*null/],
    ['an unknown window of Mistral', { ...llama8b, model_type: 'mistral' }, /sliding_window.*undefined.*null/],
    ['a window that is on and not given', { ...qwen3Moe, use_sliding_window: true }, /sliding_window.*undefined.*null/],
    [
      'a window of unknown layers',
      { ...qwen3Moe, use_sliding_window: true, sliding_window: 4096 },
      /max_window_layers.*undefined/,
    ],
    ['more active experts than there are', { ...mixtral, num_experts_per_tok: 9 }, /num_experts_per_tok.*9/],
  ])('refuses %s, naming the field', (_, config, message) => {
    expect(() => decoderFromConfig(config)).toThrow(message)
  })
})
