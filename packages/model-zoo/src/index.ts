export { buildNetwork } from './build-network.js'
export { type NetworkFacts, networkFacts } from './network-facts.js'
export type {
  Extent,
  GraphNode,
  NetworkGraph,
  NodeOf,
  OperatorAttributes,
  OperatorKind,
  WeightTensor,
} from './network-graph.js'
export { parameterCount } from './parameter-count.js'
export { elementCount, type InputSize, inferShapes, type Shape } from './shapes.js'
export { type OperatorClass, type OperatorWork, operatorWork, type WorkOptions } from './work.js'
export { type Layer, type LayerGraph, layerGraph, type UnknownOperator } from './layer-graph.js'
export { networkWork } from './network-work.js'
export { trainingGraph, type TrainingGraphOptions } from './training-graph.js'
export { type GraphFromOnnxOptions, graphFromOnnx } from './onnx-import/graph-from-onnx.js'
export { exportOnnx, type OnnxExport, type OnnxOptions } from './onnx/export-onnx.js'
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
