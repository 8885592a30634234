// Which objects are ours: by their class, in an annotation or in the spec.

export interface ClassedObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
  readonly spec?: { readonly ingressClassName?: string | undefined } | undefined;
}

const OWN_PREFIX = 'projectsesame.io/';
const CONTOURS_PREFIX = 'projectcontour.io/';
export const DEFAULT_CLASS = 'sesame';
const CONTOURS_CLASS = 'contour';

/** Which classes an instance serves. */
export interface ServedClasses {
  /** Names that are separated by commas; without one, objects without a class and those of the class `sesame`. */
  readonly className?: string | undefined;
  /** `--contour-compat`: annotations of Contour are read, and without a name the class `contour` is served too. */
  readonly contour?: boolean | undefined;
}

/** The prefixes of annotations that are read; the first one wins. Those of Contour are read with `--contour-compat`. */
export function annotationPrefixes({ contour = false }: ServedClasses): readonly string[] {
  return contour ? [OWN_PREFIX, CONTOURS_PREFIX] : [OWN_PREFIX];
}

export function isContoursAnnotation(name: string): boolean {
  return name.startsWith(CONTOURS_PREFIX);
}

/** The problem of an annotation of Contour that is not read. */
export function ignoredAnnotation(name: string): string {
  return `annotation ${name}: it is ignored without --contour-compat; use ${OWN_PREFIX}${name.slice(CONTOURS_PREFIX.length)}, or set contourCompat of the SesameDeployment`;
}

/** The class that an object names, or the empty text. */
export function classOf({ metadata, spec }: ClassedObject, classes: ServedClasses): string {
  const names = [...annotationPrefixes(classes), 'kubernetes.io/'].map((prefix) => `${prefix}ingress.class`);
  const annotation = names.find((name) => metadata.annotations?.[name] !== undefined);
  return annotation === undefined ? (spec?.ingressClassName ?? '') : (metadata.annotations?.[annotation] ?? '');
}

/** Whether there is an instance that serves both: the class `sesame` is that of objects without one. */
export function isSameClass(left: ClassedObject, right: ClassedObject): boolean {
  const either = { contour: true };
  return (classOf(left, either) || DEFAULT_CLASS) === (classOf(right, either) || DEFAULT_CLASS);
}

export function isServed(source: ClassedObject, { className = '', contour = false }: ServedClasses): boolean {
  const found = classOf(source, { contour });
  const classes = className
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  if (classes.length > 0) return classes.includes(found);
  return found === '' || found === DEFAULT_CLASS || (contour && found === CONTOURS_CLASS);
}
