import type { Layer, LayerGraph } from '@pctodl/model-zoo'

/**
 * A network whose convolutions are each followed by a copy of the result into the framework's layout: read once,
 * written once. Rows of timm's benchmark for the same network in both layouts show one copy per convolution on an RTX
 * 3090; two would cost twice as much.
 */
export function withLayoutCopies(graph: LayerGraph): LayerGraph {
  const layers = graph.layers.flatMap((layer) =>
    layer.operatorClass === 'conv' || layer.operatorClass === 'pointwise' ? [layer, copyOf(layer)] : [layer],
  )
  return { ...graph, layers }
}

function copyOf(layer: Layer): Layer {
  const { name, outputElements } = layer
  const amounts = { flops: 0, inputElements: outputElements, weightElements: 0 }
  // Of the operators without arithmetic, pooling moves exactly the minimum.
  return { ...layer, ...amounts, name: `${name} copy`, operator: 'copy', operatorClass: 'pool', inputs: [name] }
}
