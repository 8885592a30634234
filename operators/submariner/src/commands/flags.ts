// The operator's own flags: `submariner operator --image=…`, and `--submariner.image=…` of Capstan's commands.
import { type Flags, notEmpty } from '@capstan/reconcile/command-line';

export const FLAGS = {
  image: {
    type: 'string',
    value: 'IMAGE',
    default: 'capstan-gateway:0.1.0',
    parse: notEmpty('give the name of an image'),
    help: 'The image of gateways, which has the programs of cables.',
  },
} as const satisfies Flags;
