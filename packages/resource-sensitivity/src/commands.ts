export { sensitivity } from './cli/sensitivity-command.js'
