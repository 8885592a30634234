/** Reasons for which a container does not start, and will not until a user does something: a kubelet's words for it. */
export const STUCK_REASONS: ReadonlySet<string> = new Set([
  'ImagePullBackOff',
  'ErrImagePull',
  'ErrImageNeverPull',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
]);

/** A container that ends again and again; why is in what it said last. */
export const CRASH_LOOP = 'CrashLoopBackOff';
