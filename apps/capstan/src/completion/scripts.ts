// The scripts that a shell loads. They hold no knowledge of their own. Each requests candidates by `PROGRAM __complete WORDS…`, which
// prints a line for each candidate (value, tab, help), `:files` where names of files fit, and `:nospace` where the candidate continues.

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export function completionScript(shell: (typeof SHELLS)[number], program: string): string {
  return SCRIPTS[shell].replaceAll('PROGRAM', program);
}

const BASH = `# Completion of PROGRAM for bash: source <(PROGRAM completion bash)
_PROGRAM_complete() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" line
  COMPREPLY=()
  [[ $cur == "=" ]] && cur=
  while IFS= read -r line; do
    case $line in
      :files)
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$cur")
        ;;
      :nospace) compopt -o nospace 2>/dev/null ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _PROGRAM_complete PROGRAM
`;

const ZSH = `#compdef PROGRAM
# Completion of PROGRAM for zsh: source <(PROGRAM completion zsh), or save it as _PROGRAM in a folder of $fpath
_PROGRAM() {
  local line value help files nospace
  local -a candidates plain
  while IFS= read -r line; do
    case $line in
      :files) files=1 ;;
      :nospace) nospace=1 ;;
      *)
        value=\${line%%$'\\t'*}
        help=\${line#*$'\\t'}
        [[ $help == $line ]] && help=
        plain+=("$value")
        candidates+=("\${value//:/\\\\:}\${help:+:$help}")
        ;;
    esac
  done < <("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( $#candidates )); then
    if [[ -n $nospace ]]; then compadd -S '' -a plain; else _describe -t values PROGRAM candidates; fi
  fi
  [[ -n $files ]] && _files
  return 0
}
(( $+functions[compdef] )) && compdef _PROGRAM PROGRAM
`;

const FISH = `# Completion of PROGRAM for fish: PROGRAM completion fish | source
function __PROGRAM_complete
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] "$cur" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$cur"
            case ':nospace'
            case '*'
                echo $line
        end
    end
end
complete -c PROGRAM -f -a '(__PROGRAM_complete)'
`;

const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const;
