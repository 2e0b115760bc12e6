import { runCommand } from '@pctodl/command-line'
import { pctodlPartition } from './cli/main.js'

runCommand('pctodl-partition', pctodlPartition)
