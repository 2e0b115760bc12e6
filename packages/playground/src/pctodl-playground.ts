import { runCommand } from '@pctodl/command-line'
import { pctodlPlayground } from './playground-command.js'

runCommand('pctodl-playground', pctodlPlayground)
