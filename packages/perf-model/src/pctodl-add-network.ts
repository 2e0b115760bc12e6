import { runCommand } from '@pctodl/command-line'
import { pctodlAddNetwork } from './commands.js'

runCommand('pctodl-add-network', pctodlAddNetwork)
