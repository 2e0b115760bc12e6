import { runCommand } from '@pctodl/command-line'
import { pctodlProve } from './prove/prove-command.js'

runCommand('pctodl prove', pctodlProve)
