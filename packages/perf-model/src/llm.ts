export { type DecoderGraphs, LanguageModelPass, memoryBytes, type PassEstimate } from './operators/language-model.js'
export { findOperatorBoard, type OperatorBoard, operatorBoards } from './operators/operator-board.js'
export { type CostedOperator, costOperator, type OperatorCost } from './operators/operator-model.js'
export {
  type Attention,
  type Gemm,
  type Moe,
  type Operator,
  type OperatorDtype,
  operatorDtypes,
} from './operators/operator-work.js'
