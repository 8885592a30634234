import { command, UsageErrors } from '@capstan/reconcile/command-line';
import { completionScript, SHELLS } from '../completion/scripts.ts';

export default command({
  usage: 'completion bash|zsh|fish',
  description:
    'Prints the completion of commands, flags, their values and the names of live objects for a shell. Load it in the profile of\n' +
    'the shell; every program of Capstan (sesame, subctl, …) prints its own.',
  examples: [
    'source <(capstan completion bash)',
    'source <(capstan completion zsh)',
    'capstan completion fish > ~/.config/fish/completions/capstan.fish',
  ],
  options: {},
  positionals: 1,
  choices: SHELLS,
  async run({ command: typed, positionals }, io) {
    const [program = 'capstan'] = typed.split(' ');
    const shell = SHELLS.find((name) => name === positionals[0]);
    if (shell === undefined) throw UsageErrors.Missing(typed, `a shell (${SHELLS.join(', ')})`, `${typed} bash`);
    io.stdout(completionScript(shell, program));
    return 0;
  },
});
