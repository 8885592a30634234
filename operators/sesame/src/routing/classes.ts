// Which objects are ours: by their class, in an annotation or in the spec.

export interface ClassedObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
  readonly spec?: { readonly ingressClassName?: string | undefined } | undefined;
}

const ANNOTATIONS = [
  'projectsesame.io/ingress.class',
  'projectcontour.io/ingress.class',
  'kubernetes.io/ingress.class',
];
export const DEFAULT_CLASS = 'sesame';
const CONTOURS_CLASS = 'contour';

/** Which classes an instance serves. */
export interface ServedClasses {
  /** Names that are separated by commas; without one, objects without a class and those of the class `sesame`. */
  readonly className?: string | undefined;
  /** Without a name, the class `contour` too. */
  readonly contour?: boolean | undefined;
}

/** The class that an object names, or the empty text. */
export function classOf({ metadata, spec }: ClassedObject): string {
  const annotation = ANNOTATIONS.find((name) => metadata.annotations?.[name] !== undefined);
  return annotation === undefined ? (spec?.ingressClassName ?? '') : (metadata.annotations?.[annotation] ?? '');
}

/** Whether there is an instance that serves both: the class `sesame` is that of objects without one. */
export function isSameClass(left: ClassedObject, right: ClassedObject): boolean {
  return (classOf(left) || DEFAULT_CLASS) === (classOf(right) || DEFAULT_CLASS);
}

export function isServed(source: ClassedObject, { className = '', contour = false }: ServedClasses): boolean {
  const found = classOf(source);
  const classes = className
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  if (classes.length > 0) return classes.includes(found);
  return found === '' || found === DEFAULT_CLASS || (contour && found === CONTOURS_CLASS);
}
