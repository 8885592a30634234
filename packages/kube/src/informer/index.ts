export type { FailureReason } from './failure.ts';
export {
  createInformer,
  type Informer,
  type InformerEvent,
  type InformerOptions,
  type InformerState,
  type InformerView,
} from './informer.ts';
export {
  createInformers,
  type Informers,
  type InformersOptions,
  type SharedInformer,
} from './informers.ts';
export type { InformerObserver, RestartCause } from './observer.ts';
export type { Selection } from './selection.ts';
