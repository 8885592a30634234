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

/** A container that terminates repeatedly. Its last termination message has the cause. */
export const CRASH_LOOP = 'CrashLoopBackOff';
