export { tasksOf } from './tasks.js'
export { type AlgorithmName, algorithmNames, createPolicy, parseAlgorithms } from './algorithms.js'
export { runTask } from './run-cell.js'
