import { runCommand } from '@pctodl/command-line'
import { pctodlPartition } from './cli/partition-command.js'

runCommand('pctodl-partition', pctodlPartition)
