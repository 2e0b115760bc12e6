export type { CommandFunction, Terminal, TextOutput } from './terminal.js'
export { exitCodeOf, runCommand } from './run-command.js'
export { endingAtOnce, Interruption, isEnding, onEnding } from './endings.js'
export { UsageError } from './usage-error.js'
export { asUsage, newCommand, exampleText, parseCommand } from './new-command.js'
export { commandOfCommands, newSubcommand, Subcommands } from './subcommands.js'
export type { OptionAliases } from './aliases.js'
export { integerFrom, listOf, numberBetween, oneOf, positiveNumber } from './option-values.js'
export { given } from '@pctodl/platform'
export { withNvmlOptions } from './option-blocks.js'
export { jsonText } from './json-text.js'
export { checked, readJson } from './json-file.js'
export { Progress } from './progress.js'
export {
  cannotWrite,
  isReadOnly,
  makePrivateFolder,
  openLog,
  openToWrite,
  privateFolder,
  readOwnFile,
  trustedPath,
  writeFileAtomically,
} from './own-files.js'
export { readBoardFile } from './board-files.js'
