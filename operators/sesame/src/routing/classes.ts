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

/** The class that an object names, or the empty text. */
export function classOf({ metadata, spec }: ClassedObject): string {
  const annotation = ANNOTATIONS.find((name) => metadata.annotations?.[name] !== undefined);
  return annotation === undefined ? (spec?.ingressClassName ?? '') : (metadata.annotations?.[annotation] ?? '');
}

/** Whether there is an instance that serves both: the class `sesame` is that of objects without one. */
export function isSameClass(left: ClassedObject, right: ClassedObject): boolean {
  return (classOf(left) || DEFAULT_CLASS) === (classOf(right) || DEFAULT_CLASS);
}

/** Without a configured class: objects without one, or of the class `sesame`. */
export function isServed(source: ClassedObject, configured: string | undefined): boolean {
  const found = classOf(source);
  const classes = (configured ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  return classes.length === 0 ? found === '' || found === DEFAULT_CLASS : classes.includes(found);
}
