export { published } from './cli/published-command.js'
