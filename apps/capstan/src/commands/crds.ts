import { command, formatManifests, MANIFEST_OUTPUT } from '@capstan/reconcile/command-line';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';

export default command({
  usage: 'crds [--operator FILE] [-o json]',
  description: 'Prints the CustomResourceDefinitions of the operators: what must be installed before they run.',
  examples: ['capstan crds --operator ./my-operator.ts | kubectl apply --server-side -f -'],
  options: { ...OPERATOR_OPTIONS, output: MANIFEST_OUTPUT },
  operatorFlags: true,
  async run(args, io) {
    const operators = await requireOperators(args, io);
    const crds = operators.flatMap(({ kinds }) => kinds.map((kind) => kind.crd() as object));
    io.stdout(await formatManifests(crds, args.flags.output));
    return 0;
  },
});
