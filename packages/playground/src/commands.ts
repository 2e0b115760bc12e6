export { pctodlPlayground } from './playground-command.js'
