// The program `kroxylicious`, in terms of Capstan's commands: `kroxylicious operator --image X --install-crds` is
// `capstan run --operators kroxylicious --kroxylicious.image=X --install-crds`.
import { FLAGS } from './flags.ts';

const ALIASES: Readonly<Record<string, string>> = {
  operator: 'run',
};

/** The arguments for Capstan's command line. Commands that are not the program's own (`why`, `plan`, `status`) are passed on. */
export function programArguments(argv: readonly string[]): string[] {
  const [command, ...rest] = argv;
  if (command === undefined || command.startsWith('-') || !Object.hasOwn(ALIASES, command)) return [...argv];
  const translated: string[] = [ALIASES[command] ?? command, '--operators', 'kroxylicious'];
  for (let i = 0; i < rest.length; i++) {
    const argument = rest[i] ?? '';
    const [, name = '', value] = /^--([a-z-]+)(?:=(.*))?$/s.exec(argument) ?? [];
    if (!Object.hasOwn(FLAGS, name)) translated.push(argument);
    else translated.push(`--kroxylicious.${name}=${value ?? rest[++i] ?? ''}`);
  }
  return translated;
}
