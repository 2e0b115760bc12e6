import { runCommand } from '@pctodl/command-line'
import { pctodlColocate } from './cli/main.js'

runCommand('pctodl-colocate', pctodlColocate)
