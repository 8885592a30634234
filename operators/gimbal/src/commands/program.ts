// The program `gimbal`, in terms of Capstan's commands: `gimbal operator --image X --install-crds` is
// `capstan run --operators gimbal --gimbal.image=X --install-crds`.
import { FLAGS } from './flags.ts';

export type GimbalRequest =
  | { readonly what: 'rbac' | 'backends' | 'drain' | 'resume' | 'rotate'; readonly argv: readonly string[] }
  /** For Capstan's own command line. */
  | { readonly what: 'capstan'; readonly argv: readonly string[] };

const OWN = ['backends', 'drain', 'resume', 'rotate'] as const;

/** What a command line asks for. Commands that are not the program's own (`why`, `plan`, `status`) are Capstan's. */
export function requestOf(argv: readonly string[]): GimbalRequest {
  const [command, ...rest] = argv;
  const own = OWN.find((name) => name === command);
  if (own !== undefined) return { what: own, argv: rest };
  if (command === 'rbac' && (rest[0] === 'remote' || rest[0] === 'local')) return { what: 'rbac', argv: rest };
  if (command !== 'operator') return { what: 'capstan', argv };
  const translated: string[] = ['run', '--operators', 'gimbal'];
  for (let i = 0; i < rest.length; i++) {
    const argument = rest[i] ?? '';
    const [, name = '', value] = /^--([a-z-]+)(?:=(.*))?$/s.exec(argument) ?? [];
    if (!Object.hasOwn(FLAGS, name)) translated.push(argument);
    else if (value !== undefined) translated.push(`--gimbal.${name}=${value}`);
    else if (FLAGS[name]?.value === undefined) translated.push(`--gimbal.${name}=true`);
    else translated.push(`--gimbal.${name}=${rest[++i] ?? ''}`);
  }
  return { what: 'capstan', argv: translated };
}

export const PROGRAM_HELP = `gimbal COMMAND

Discovery backends: what remote clusters have, brought here; drained for maintenance; with credentials that rotate.

Commands:
  operator            Run the operator; flags of "capstan run", and:
${Object.entries(FLAGS)
  .map(
    ([name, { value, help }]) => `                        --${name}${value === undefined ? '' : ` ${value}`}  ${help}`,
  )
  .join('\n')}
  discover TYPE       Run a discoverer: kubernetes or openstack
  backends            List backends: their state, the age of their last sync, their errors
  drain NAME          Send traffic elsewhere, for maintenance
  resume NAME         Take traffic again
  rotate NAME         Change credentials
  rbac remote TYPE    Print what the remote side has to grant
  rbac local          Print what a discoverer needs here

Every other command is Capstan's: gimbal why, gimbal plan, gimbal status, …
"gimbal COMMAND --help" tells more.
`;
