export { energy } from './commands/energy-command.js'
export { govern } from './commands/govern-command.js'
