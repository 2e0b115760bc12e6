export { pctodlColocate } from './cli/colocate-command.js'
