export { fit } from './cli/fit-command.js'
export { predict } from './cli/predict-command.js'
