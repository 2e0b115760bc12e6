import { runCommand } from '@pctodl/command-line'
import { pctodlHetero } from './cli/hetero-command.js'

runCommand('pctodl-hetero', pctodlHetero)
