/** Held by a Sesame on the SesameConfiguration that it uses. */
export const CONFIGURATION_FINALIZER = 'projectsesame.io/configuration';
