import { runCommand } from '@pctodl/command-line'
import { pctodlProfile } from './profile-command.js'

runCommand('pctodl profile', pctodlProfile)
