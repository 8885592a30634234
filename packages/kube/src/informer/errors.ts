import { catalogue } from '../errors.ts';

export const InformerErrors = catalogue('kube', {
  InformerStopped: (kind: string) => ({
    message: `the informer of ${kind} was stopped before its first list was complete`,
    remedy: 'wait for it before stopping it, or treat this as the end of the program',
  }),
  InformersClosed: (kind: string) => ({
    message: `cannot start the informer of ${kind}: the informers of this cluster are closed`,
    remedy: 'ask for it before closing them',
  }),
});
