import { COMMANDS } from '../command-table.ts';

/** Returns the text of `capstan --help`. */
export function generalHelp(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `Capstan turns declared configuration into running network infrastructure.

Usage: capstan COMMAND [flags]

Commands:
${lines.join('\n')}

Examples:
  capstan up --demo                 a whole cluster on this machine, with example objects
  capstan status                    what is not healthy, and why
  capstan plan -f change.yaml       what would this change do?
  capstan why deployment/my-proxy   why was this changed?

capstan COMMAND --help shows more about one of them.
`;
}

/**
 * Returns help whose commands can be pasted as they are. If npm started the program in a checkout, `capstan` is not on the PATH, and `npm
 * run -s capstan --` replaces it. CAPSTAN_CALLED_AS holds the call by npx or of a single executable.
 */
export function pasteable(text: string, env: Readonly<Record<string, string | undefined>>): string {
  const { CAPSTAN_CALLED_AS: path } = env;
  if (path !== undefined)
    return text.replaceAll(COMMAND, (whole: string, before: string, program: string) =>
      program === path.split('/').at(-1) || program === 'capstan' ? `${before}${path}` : whole,
    );
  // Other scripts of the checkout, such as its tests, start programs too: those are called by their own names.
  const script = env['npm_lifecycle_event'] ?? '';
  if (!['start', ...PROGRAMS].includes(script) || env['npm_package_name'] !== 'capstan-workspace') return text;
  return text.replaceAll(COMMAND, (_whole, before: string, program: string) => `${before}npm run -s ${program} --`);
}

const PROGRAMS = ['capstan', 'crossplane', 'gimbal', 'kroxylicious', 'sesame', 'subctl', 'submariner'];
/** A program where a command begins: at the start of a line, after the usage's colon, in a pipe or a substitution. */
const COMMAND = new RegExp(`(^ *|Usage: |[|(] ?|; )(${PROGRAMS.join('|')})(?= [-a-zA-Z_])`, 'gm');
