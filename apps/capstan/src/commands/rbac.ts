import { rbacManifests, SYSTEM_NAMESPACE, writePolicies } from '@capstan/reconcile';
import { command, formatManifests, json, list, MANIFEST_OUTPUT } from '@capstan/reconcile/command-line';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import { explainRights, formatRights } from '../rights/explain-rights.ts';

export default command({
  usage: 'rbac [--explain] [--namespace NS] [--role ROLE] [--watch-namespaces LIST] [--operator FILE] [-o json]',
  description:
    'Prints the ServiceAccount, roles and bindings of each operator: exactly what its reconcilers declare, nothing more. Admission\n' +
    'policies (Kubernetes 1.30) keep the account from changing Secrets that it did not create.\n' +
    'With --watch-namespaces the rules are Roles in those namespaces instead of one ClusterRole.\n' +
    'With --explain it names instead the far-reaching rights of each operator with their reasons, and each rule that permits more than\n' +
    'is declared, because RBAC cannot express less; -o json names the reconcilers too.',
  examples: [
    'capstan rbac --namespace capstan-system --operator ./my-operator.ts | kubectl apply -f -',
    'capstan rbac -n capstan-system --watch-namespaces team-a,team-b --operator ./my-operator.ts',
    'capstan rbac --explain --operators gimbal',
  ],
  options: {
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'Where the operators run; default capstan-system.' },
    'watch-namespaces': {
      type: 'string',
      value: 'LIST',
      parse: list,
      help: 'Only these namespaces, with commas; default all.',
    },
    'leader-elect-resource-namespace': {
      type: 'string',
      value: 'NAME',
      help: 'Where the Lease and the digest key are; default capstan-system.',
    },
    explain: {
      type: 'boolean',
      help: 'List the rules that permit more than the operators need, with the reason.',
    },
    role: {
      type: 'string',
      value: 'ROLE',
      help: 'For clusters of this role (broker, member, remote…) instead of the one that the operators run in.',
    },
    name: { type: 'string', value: 'NAME', help: 'Of the account, roles and bindings; default capstan-OPERATOR.' },
    ...OPERATOR_OPTIONS,
    output: MANIFEST_OUTPUT,
  },
  operatorFlags: true,
  async run(args, io) {
    const { flags } = args;
    const watchNamespaces = flags['watch-namespaces'];
    const systemNamespace = flags['leader-elect-resource-namespace'];
    const operators = await requireOperators(args, io);
    if (flags.explain === true) {
      const found = operators.map((operator) => explainRights(operator, { role: flags.role, watchNamespaces }));
      io.stdout(flags.output === 'json' ? json({ operators: found }) : formatRights(found));
      return 0;
    }
    const where = {
      namespace: flags.namespace ?? SYSTEM_NAMESPACE,
      ...(systemNamespace !== undefined && { systemNamespace }),
    };
    const objects = operators.flatMap((operator) => [
      ...rbacManifests(operator, {
        ...where,
        ...(flags.name !== undefined && { name: flags.name }),
        ...(flags.role !== undefined && { role: flags.role }),
        ...(watchNamespaces && { watchNamespaces }),
      }),
      // Other clusters have accounts of other programs.
      ...(flags.role === undefined
        ? writePolicies([operator], { ...where, account: flags.name ?? `capstan-${operator.name}` })
        : []),
    ]);
    io.stdout(await formatManifests(objects, flags.output));
    return 0;
  },
});
