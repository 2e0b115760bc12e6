export { sim } from './sim-command.js'
