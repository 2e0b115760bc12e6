export { buildNetwork } from './build-network.js'
export { networkFacts } from './network-facts.js'
export type { GraphNode, NetworkGraph } from './network-graph.js'
export { parameterCount } from './parameter-count.js'
export { elementCount, type InputSize, inferShapes, type Shape } from './shapes.js'
export { type OperatorClass, type OperatorWork, operatorWork } from './work.js'
export { type Layer, type LayerGraph, layerGraph } from './layer-graph.js'
export { networkWork } from './network-work.js'
export { trainingGraph } from './training-graph.js'
export { graphFromOnnx } from './onnx-import/graph-from-onnx.js'
export { exportOnnx, type OnnxOptions } from './onnx/export-onnx.js'
export {
  type Decoder,
  type DecoderExperts,
  decoderFromConfig,
  type DecoderOperator,
  decoderOperators,
  decoderParameters,
  type DecoderPass,
  kvCacheBytes,
} from './decoder.js'
