import { catalogue } from './coded-error.ts';

/** Requests that cannot be created at all: mistakes of the caller, found before anything is sent. */
export const RequestErrors = catalogue('kube', {
  NoName: (action: string, kind: string) => ({
    message: `cannot ${action} a ${kind} without a name`,
    remedy: 'set metadata.name',
  }),
  BadName: (action: string, kind: string, name: string) => ({
    message: `cannot ${action} the ${kind} ${JSON.stringify(name)}: no object can have that name`,
    remedy: 'use a name without "/" and "%" that is not "." or ".."',
  }),
  NoNamespace: (action: string, kind: string, name: string) => ({
    message: `cannot ${action} the ${kind} ${JSON.stringify(name)} without a namespace`,
    remedy: 'set metadata.namespace',
  }),
  NotOfKind: (kind: string, got: string) => ({
    message: `cannot send an object of ${got} as ${kind}`,
    remedy: 'use the kind that the object names in apiVersion and kind',
  }),
  NotAnAddress: (address: string) => ({
    message: `cannot put "${address}" into a certificate: it is not an IP address`,
    remedy: 'give an IPv4 or IPv6 address without a zone',
  }),
});
