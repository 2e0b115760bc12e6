export { LanguageModelPass, memoryBytes } from './operators/language-model.js'
export { findOperatorBoard, type OperatorBoard } from './operators/operator-board.js'
export { costOperator } from './operators/operator-model.js'
