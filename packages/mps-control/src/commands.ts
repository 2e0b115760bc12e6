export { mps } from './commands/mps-command.js'
