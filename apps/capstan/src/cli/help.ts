import { COMMANDS } from './commands.ts';

/** What `capstan --help` prints. */
export function generalHelp(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `Capstan turns declared configuration into running network infrastructure.

Usage: capstan COMMAND [flags]

Commands:
${lines.join('\n')}

Examples:
  capstan run --operator ./my-operator.ts     run an operator in the cluster of the current context
  capstan plan -f change.yaml                 what would this change do?
  capstan why deployment/my-proxy -n edge     why did this change?

capstan COMMAND --help tells more about one of them.
`;
}
