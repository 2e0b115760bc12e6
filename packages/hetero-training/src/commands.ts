export { pctodlHetero } from './cli/hetero-command.js'
