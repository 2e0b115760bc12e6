export { buildNetwork } from './build-network.js'
export {
  type Decoder,
  type DecoderOperator,
  type DecoderPass,
  decoderFromConfig,
  decoderOperators,
  decoderParameters,
  kvCacheBytes,
} from './decoder.js'
export { type Layer, type LayerGraph, layerGraph } from './layer-graph.js'
export type { NetworkGraph } from './network-graph.js'
export { networkWork } from './network-work.js'
export { exportOnnx } from './onnx/export-onnx.js'
export { graphFromOnnx } from './onnx-import/graph-from-onnx.js'
export { inferShapes } from './shapes.js'
export { trainingGraph } from './training-graph.js'
export { type OperatorClass, type OperatorWork, operatorWork } from './work.js'
