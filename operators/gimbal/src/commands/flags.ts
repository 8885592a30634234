// The operator's own flags: `gimbal operator --image=…`, and `--gimbal.image=…` of Capstan's commands.
import { type Flags, notEmpty } from '@capstan/reconcile/command-line';
import { VERSION } from '../discover/version.ts';

export const FLAGS = {
  image: {
    type: 'string',
    value: 'IMAGE',
    default: `capstan:${VERSION}`,
    parse: notEmpty('give the name of an image'),
    help: 'The image of discoverers.',
  },
  'write-endpoints': {
    type: 'boolean',
    default: false,
    help: 'Discoverers write Endpoints too, for consumers that do not read slices.',
  },
} as const satisfies Flags;
