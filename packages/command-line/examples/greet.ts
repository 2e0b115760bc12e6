import { type CommandFunction, integerFrom, newCommand, parseCommand } from '@pctodl/command-line'

/** `greet Ada --times 2` */
export const greet: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    { name: 'greet', description: 'Say hello to someone.', example: 'greet Ada --times 2' },
    terminal,
  )
    .argument('<name>')
    .option('--times <n>', 'how often', integerFrom(1), 1)
  await parseCommand(command, argv)
  const { times } = command.opts<{ times: number }>()
  for (let i = 0; i < times; i++) terminal.stdout.write(`Hello, ${command.args[0]}\n`)
  return 0
}
