import { runCommand } from '@pctodl/command-line'
import { pctodlHetero } from './cli/main.js'

runCommand('pctodl-hetero', pctodlHetero)
