export { node } from './commands/node-command.js'
