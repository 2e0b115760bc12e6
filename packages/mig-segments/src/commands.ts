export { segments } from './cli/segments-command.js'
