// `crossplane beta trace`: shows the objects of a package and their problems.
import { CLUSTER_OPTIONS, command, REPORT_FORMATS, UsageErrors, withCluster } from '@capstan/reconcile/command-line';
import { PACKAGE_KINDS } from '../packages/package-kind.ts';
import { printTree } from '../trace/print.ts';
import { createFinder, packageTree, resourceTree } from '../trace/tree.ts';

const choice = <const C extends readonly string[]>(oneOf: C, value: C[number], help: string) =>
  ({ type: 'string', oneOf, default: value, help }) as const;

const EXAMPLE = 'crossplane beta trace provider/provider-aws';

export default command({
  usage: 'beta trace TYPE[.VERSION][.GROUP][/NAME] [NAME]',
  description:
    'Prints what belongs to a package (its revisions and the packages that it depends on), or what another resource refers to,\n' +
    'as a tree with the conditions of each.',
  examples: [
    EXAMPLE,
    'crossplane beta trace configuration platform -o wide',
    `${EXAMPLE} -o dot | dot -Tpng -o tree.png`,
  ],
  positionals: 2,
  options: {
    ...CLUSTER_OPTIONS,
    output: {
      ...choice(
        [...REPORT_FORMATS, 'dot', 'default'],
        'table',
        'How to print it; dot is for Graphviz, default the same as table.',
      ),
      short: 'o',
    },
    'show-package-dependencies': choice(['unique', 'all', 'none'], 'unique', 'Which packages it depends on to show.'),
    'show-package-revisions': choice(['active', 'all', 'none'], 'active', 'Which revisions to show.'),
    'show-package-runtime-configs': {
      type: 'boolean',
      default: false,
      help: 'Show the runtime configurations of packages.',
    },
    'show-package-objects': { type: 'boolean', default: false, help: 'Show what revisions installed.' },
    'show-connection-secrets': { type: 'boolean', short: 's', default: false, help: 'Accepted, and not acted on.' },
    concurrency: { type: 'string', value: 'N', default: '5', help: 'Accepted, and not acted on.' },
  },
  async run({ flags, positionals }, io) {
    const { type, name } = targetOf(positionals);
    return withCluster(flags, io, async ({ client, namespace }) => {
      const finder = createFinder(client);
      const kind = await finder.named(type);
      if (kind === undefined)
        throw UsageErrors.Missing('crossplane beta trace', `a type that the server knows (not "${type}")`, EXAMPLE);
      const ofPackage = PACKAGE_KINDS.find((one) => one.package.kind === kind.kind && one.package.group === kind.group);
      const tree =
        ofPackage === undefined
          ? await resourceTree(
              client,
              await client.get(kind, { name, ...(kind.scope === 'Namespaced' && { namespace }) }),
              finder.find,
            )
          : await packageTree(
              client,
              ofPackage,
              name,
              {
                dependencies: flags['show-package-dependencies'],
                revisions: flags['show-package-revisions'],
                runtimeConfigs: flags['show-package-runtime-configs'],
                objects: flags['show-package-objects'],
              },
              finder.find,
            );
      io.stdout(await printTree(tree, flags.output));
      return 0;
    });
  },
});

function targetOf([resource = '', given]: readonly string[]): { type: string; name: string } {
  const [type = '', name, ...rest] = resource.split('/');
  const both = name !== undefined && given !== undefined;
  const found = name ?? given ?? '';
  if (type === '' || found === '' || both || rest.length > 0)
    throw UsageErrors.Missing('crossplane beta trace', 'one type and one name', EXAMPLE);
  return { type, name: found };
}
