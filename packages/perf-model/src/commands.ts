export { pctodlAddNetwork } from './cli/add-network-command.js'
export { fit } from './cli/fit-command.js'
export { llm } from './cli/llm-command.js'
export { predict } from './cli/predict-command.js'
