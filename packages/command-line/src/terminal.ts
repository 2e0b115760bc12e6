/** A text stream: a real standard stream, or a collector in tests. */
export interface TextOutput {
  write(text: string): unknown
  readonly isTTY?: boolean
  /** Width of the terminal in characters; absent if it is not a terminal. */
  readonly columns?: number
}

/** Everything that a command gets from its environment. */
export interface Terminal {
  readonly stdout: TextOutput
  readonly stderr: TextOutput
  /**
   * Aborted with an `Interruption` if the user interrupts (SIGINT) or the process is asked to end (SIGTERM, SIGHUP).
   */
  readonly signal: AbortSignal
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * A complete command as a function.
 *
 * @param argv the words after the command's name
 * @returns the exit code: 0 done, 1 failed, 2 usage, 130 interrupted, 143 terminated
 */
export type CommandFunction = (argv: readonly string[], terminal: Terminal) => Promise<number>
