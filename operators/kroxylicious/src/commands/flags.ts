// The operator's own flags: `kroxylicious operator --image=…`, and `--kroxylicious.image=…` of Capstan's commands.
import { dnsName, duration, type Flags, notEmpty, wholeNumber } from '@capstan/reconcile/command-line';

/** The version of Capstan's image. */
const VERSION = '0.1.0';

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
  'sidecar-webhook': {
    type: 'boolean',
    default: true,
    help: 'Run the webhook that injects sidecars while there is a KroxyliciousSidecarConfig; false where the original’s runs.',
  },
  'webhook-image': {
    type: 'string',
    value: 'IMAGE',
    default: `capstan:${VERSION}`,
    parse: notEmpty('give the name of an image'),
    help: 'The image of the webhook.',
  },
  'webhook-namespace': {
    type: 'string',
    value: 'NAME',
    default: 'kroxylicious-webhook',
    parse: dnsName('use the name of a namespace'),
    help: 'Where the webhook runs; pods of this namespace get no sidecars.',
  },
  'webhook-replicas': {
    type: 'string',
    value: 'NUMBER',
    default: '2',
    parse: wholeNumber(1, 100),
    help: 'How many pods of the webhook run.',
  },
  'webhook-failure-policy': {
    type: 'string',
    oneOf: ['Fail', 'Ignore'],
    default: 'Fail',
    help: 'What happens to pods of namespaces with sidecars while the webhook does not answer: refused, or without a sidecar.',
  },
  'uninjected-pod-policy': {
    type: 'string',
    oneOf: ['Admit', 'Deny'],
    default: 'Admit',
    help: 'What happens to pods for which there is no usable KroxyliciousSidecarConfig.',
  },
} as const satisfies Flags;
