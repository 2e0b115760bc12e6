import { runCommand } from '@pctodl/command-line'
import { pctodlProfile } from './main.js'

runCommand('pctodl-profile', pctodlProfile)
