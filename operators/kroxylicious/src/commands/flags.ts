// The operator's own flags: `kroxylicious operator --image=…`, and `--kroxylicious.image=…` of Capstan's commands.
import { dnsName, duration, type Flags, notEmpty } from '@capstan/reconcile/command-line';

export const FLAGS = {
  image: {
    type: 'string',
    value: 'IMAGE',
    default: 'quay.io/kroxylicious/proxy:0.23.0',
    parse: notEmpty('give the name of an image'),
    help: 'The proxy’s image.',
  },
  'quiet-period': {
    type: 'string',
    value: 'DURATION',
    default: '2s',
    parse: duration({ remedy: 'use a duration of zero or more, such as 2s or 500ms' }),
    help: 'A rollout waits until its inputs have not changed for so long.',
  },
  'cluster-domain': {
    type: 'string',
    value: 'DOMAIN',
    default: 'cluster.local',
    parse: dnsName('use a DNS name, such as cluster.local'),
    help: 'What host names of Services end in.',
  },
} as const satisfies Flags;
