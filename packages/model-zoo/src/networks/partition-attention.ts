import type { Activation, GraphBuilder } from '../graph-builder.js'
import type { OperatorAttributes } from '../network-graph.js'

const HEAD_FEATURES = 32
const MLP_RATIO = 4

/**
 * Adds one transformer layer of MaxViT. The feature map is cut into windows, attention runs within each window, a
 * two-layer perceptron follows, and the windows are put together again. Before attention and before the perceptron
 * there is a layer norm, and after each a residual sum.
 */
export function partitionAttention(
  graph: GraphBuilder,
  path: string,
  map: Activation,
  partition: OperatorAttributes['windowPartition'],
): Activation {
  const { channels } = map
  // In the grid layout, the windows are a transposed view of a copy, and the residual sums keep the strides of this
  // view.
  const strided = { copiesInput: partition.layout === 'grid' }
  let x = graph.operator(`${path}.partition`, 'windowPartition', [map], channels, partition)
  const normalised = graph.layerNorm(`${path}.attn_layer.0`, x, strided)
  const attended = attention(graph, `${path}.attn_layer.1`, normalised, partition.size)
  x = graph.add(`${path}.add1`, x, attended)
  let hidden = graph.layerNorm(`${path}.mlp_layer.0`, x, strided)
  hidden = graph.linear(`${path}.mlp_layer.1`, hidden, channels * MLP_RATIO)
  hidden = graph.activation(`${path}.mlp_layer.2`, 'gelu', hidden)
  hidden = graph.linear(`${path}.mlp_layer.3`, hidden, channels)
  x = graph.add(`${path}.add2`, x, hidden)
  return graph.operator(`${path}.merge`, 'windowMerge', [x], channels, { ...partition, restores: map.id })
}

/**
 * Adds multi-head attention with a learned bias for each relative position. One linear layer computes queries, keys and
 * values, interleaved by head, so eager frameworks copy all three before the batched products. Keys are scaled by the
 * root of the number of all features, not by that of one head's features.
 */
function attention(graph: GraphBuilder, path: string, input: Activation, size: number): Activation {
  const features = input.channels
  const heads = features / HEAD_FEATURES
  const positions = size * size
  const head = (name: string, part: number, qkv: Activation) =>
    graph.operator(`${path}.${name}`, 'splitHeads', [qkv], HEAD_FEATURES, { part, parts: 3, heads })
  const layOut = (name: string, x: Activation) => graph.operator(`${path}.${name}`, 'contiguous', [x], x.channels, {})

  const qkv = graph.linear(`${path}.to_qkv`, input, 3 * features)
  const query = head('query', 0, qkv)
  const key = head('key', 1, qkv)
  const value = head('value', 2, qkv)
  const scaledKey = graph.operator(`${path}.key_scale`, 'scale', [key], HEAD_FEATURES, { factor: features ** -0.5 })
  const scores = graph.operator(
    `${path}.scores`,
    'matmul',
    [layOut('query_copy', query), layOut('key_copy', scaledKey)],
    positions,
    { transposeB: true },
  )
  const pairs = graph.relativePositionBias(`${path}.relative_position_bias`, size, heads)
  const bias = graph.operator(`${path}.bias_copy`, 'pairsToHeads', [pairs], positions, { size, heads })
  const biased = graph.add(`${path}.bias_add`, scores, bias)
  const probabilities = graph.operator(`${path}.softmax`, 'softmax', [biased], positions, { axis: -1 })
  const weighted = graph.operator(
    `${path}.weighted_values`,
    'matmul',
    [probabilities, layOut('value_copy', value)],
    HEAD_FEATURES,
    { transposeB: false },
  )
  const merged = graph.operator(`${path}.merge_heads`, 'mergeHeads', [weighted], features, { heads })
  return graph.linear(`${path}.merge`, merged, features)
}
