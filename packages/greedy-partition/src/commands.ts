export { pctodlPartition } from './cli/partition-command.js'
