import { discover, keyOf } from '@capstan/kube';
import { command, formatReport, objectName, REPORT_OUTPUT } from '@capstan/reconcile/command-line';
import { CliErrors } from '../cli/errors.ts';
import { findKind } from '../cluster/find-kind.ts';
import { CLUSTER_OPTIONS, withCluster } from '../cluster/open-cluster.ts';
import { targetOf } from '../cluster/target.ts';
import { findCause } from '../why/cause-chain.ts';
import { formatAnswer } from '../why/format-answer.ts';

export default command({
  usage: 'why KIND/NAME [-n NAMESPACE] [-o FORMAT]',
  description:
    'Shows why Capstan last changed an object: which inputs differed, and the path from them. The answer is on the object\n' +
    'itself, so it needs nothing but the right to read it. KIND is written as for kubectl: deployment, deploy, deployments.apps.',
  examples: ['capstan why deployment/my-proxy -n edge', 'capstan why pod/my-proxy-7d9f-x2x -n edge -o json'],
  options: { ...CLUSTER_OPTIONS, output: REPORT_OUTPUT },
  positionals: 2,
  async run({ command: typed, flags, positionals }, io) {
    const { kind: kindName, name } = targetOf(typed, positionals);
    return withCluster(flags, io, async ({ client, namespace }) => {
      const discovery = await discover(client, { signal: io.signal });
      const kind = findKind(discovery, kindName);
      const ref = kind.scope === 'Namespaced' ? { namespace, name } : { name };
      const object = await client.find(kind, ref, { signal: io.signal });
      if (object === undefined) throw CliErrors.NoSuchObject(kind.kind, keyOf(ref));
      const answer = await findCause(client, discovery, object);
      io.stdout(
        await formatReport(flags.output, {
          value: { ...answer, cause: answer.cause ?? null },
          text: () => formatAnswer(answer),
          // The objects whose change was the cause.
          names: () =>
            (answer.cause?.changes ?? []).map((change) => {
              const [changed = '', key = ''] = change.object.split(' ');
              return objectName(changed, key.split('/').at(-1) ?? key);
            }),
        }),
      );
      return 0;
    });
  },
});
