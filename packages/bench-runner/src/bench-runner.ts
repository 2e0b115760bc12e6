import { runCommand } from '@pctodl/command-line'
import { benchRunner } from './matrix-command.js'

runCommand('bench-runner', benchRunner)
