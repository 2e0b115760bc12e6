/** Completion scripts by shell; each calls `pctodl complete`. */
export const completionScripts = {
  bash: `_pctodl() {
  local IFS=$'\\n'
  COMPREPLY=($(pctodl complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _pctodl pctodl
`,
  zsh: `#compdef pctodl
_pctodl() {
  local -a candidates
  candidates=(\${(f)"$(pctodl complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( \${#candidates} )); then compadd -a candidates; else _files; fi
}
compdef _pctodl pctodl
`,
  fish: `complete -c pctodl -a '(pctodl complete -- (commandline -opc)[2..-1] (commandline -ct | string collect --allow-empty) 2>/dev/null)'
`,
} as const

export type CompletionShell = keyof typeof completionScripts

/** Instructions to load the script, by shell. */
export const completionHints: Readonly<Record<CompletionShell, string>> = {
  bash: 'pctodl completion bash > ~/.local/share/bash-completion/completions/pctodl',
  zsh: "echo 'source <(pctodl completion zsh)' >> ~/.zshrc   # after compinit",
  fish: 'pctodl completion fish > ~/.config/fish/completions/pctodl.fish',
}
