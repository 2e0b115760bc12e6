export { gpu } from './commands/gpu-command.js'
