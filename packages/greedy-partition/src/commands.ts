export { pctodlPartition } from './cli/main.js'
